"""What `check` calls bounded, `run` takes; and so it is with each of its fixes pasted: random nested joins, as text.

Up to four streams joined by joins of every kind, then EXISTS and NOT EXISTS; declarations of every kind that closes. A
query that this version cannot run at all, or only with --allow-unbounded, must say so in a notice.
"""

from __future__ import annotations

import random

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.compile import judged, parse, plan_of
from penstock.explain.reason_words import each_told
from penstock.plan.runnable import obstacles, unkept_bounds
from tests.measure import size

SCRIPTS = size(60, 5000)
Declared = dict[str, list[str]]


def streams(draw: random.Random, names: list[str]) -> Declared:
    ordered, follows = draw.choice((0.3, 0.6, 0.9)), draw.choice((0.05, 0.3, 0.7))
    found: Declared = {}
    for name in names:
        chosen = [
            (ordered, f"ORDERED BY ts WITHIN {draw.randint(0, 5)}"),
            (0.1, "ORDERED BY a WITHIN 3 ROWS"),
            (0.25, "PRIMARY KEY (a)"),
            (0.15, "CLUSTERED BY b WITHIN 3 ROWS"),
            (0.25, f"PUNCTUATED ON ({draw.choice(('a', 'b', 'a, b'))}) WHEN kind = 1"),
        ]
        for other in names:
            if other != name:
                columns = f"({draw.choice('ab')}) ON ({draw.choice('ab')})"
                chosen.append((follows, f"FOLLOWS {other} {columns} WITHIN {draw.randint(0, 9)} ROWS"))
                chosen.append((0.07, f"FOREIGN KEY ({draw.choice('ab')}) REFERENCES {other} (a)"))
                chosen.append((0.07, f"COOCCURS (a) AND {other} (a) WINDOW [-3, 4]"))
        found[name] = [text for share, text in chosen if draw.random() < share]
    return found


def condition(draw: random.Random, ones: list[str], other: str, banded: float) -> str:
    one = draw.choice(ones)
    found = [f"{one}.{draw.choice('aab')} = {other}.{draw.choice('aab')}"]
    if draw.random() < 0.2:
        found.append(f"{draw.choice(ones)}.b = {other}.b")
    if draw.random() < banded:
        found.append(f"{other}.ts - {draw.choice(ones)}.ts BETWEEN {-draw.randint(0, 9)} AND {draw.randint(0, 9)}")
    if draw.random() < 0.12:
        found.append(f"{draw.choice([*ones, other])}.a > 3")
    return " AND ".join(found)


def question(draw: random.Random, names: list[str], inside: int) -> str:
    banded, windowed = draw.choice((0.2, 0.6, 0.9)), draw.choice((0.0, 0.0, 0.0, 0.3))
    aliases = [f"x{number}" for number in range(len(names))]
    named = [
        f"{name}{f' [RANGE {draw.randint(3, 20)}]' if draw.random() < windowed else ''} AS {alias}"
        for name, alias in zip(names, aliases, strict=True)
    ]
    joined = named[0]
    for number in range(1, inside):
        kind = draw.choice(("", "LEFT ", "LEFT ", "RIGHT ", "RIGHT ", "FULL "))
        joined += f" {kind}JOIN {named[number]} ON {condition(draw, aliases[:number], aliases[number], banded)}"
    asked = [
        f"{draw.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {named[number]} "
        f"WHERE {condition(draw, aliases[:inside], aliases[number], banded)})"
        for number in range(inside, len(names))
    ]
    shown = ", ".join(f"{alias}.a AS {alias}_a" for alias in aliases[:inside])
    return f"SELECT {shown} FROM {joined}{' WHERE ' if asked else ''}{' AND '.join(asked)};"


def script(declared: Declared, asked: str) -> str:
    columns = "a BIGINT, b BIGINT, kind BIGINT, ts BIGINT, EVENT TIME ts"
    made = [f"CREATE STREAM {name} ({', '.join([columns, *texts])});" for name, texts in declared.items()]
    return "\n".join([*made, asked])


def pasted(declared: Declared, fix: str) -> Declared:
    found = {name: list(texts) for name, texts in declared.items()}
    for part in fix.split("; "):
        constraint, _, name = part.rpartition(" ON ")
        found[name].append(constraint)
    return found


@pytest.mark.measure
def test_what_is_bounded_is_taken_and_so_is_every_fix() -> None:
    bounded = fixed = 0
    for seed in range(SCRIPTS):
        draw = random.Random(seed)
        inside, held = draw.randint(2, 4), draw.choice((0, 0, 1, 1, 2))
        names = [f"s{number}" for number in range(min(5, inside + held))]
        declared = streams(draw, names)
        if draw.random() < 0.15:
            names[-1] = names[0]
        asked = question(draw, names, inside)
        text = script(declared, asked)
        (query,) = parse(text).queries
        verdict = check_query(query)
        assert not obstacles(query), text
        if verdict.verdict == "bounded":
            bounded += 1
            assert not unkept_bounds(plan_of(query, verdict)), text
        entries = [(e.alias, e.finding) for e in verdict.streams if not isinstance(e.finding, Bounded)]
        for fix in dict.fromkeys(str(fix) for _, finding in entries for fix in finding.fixes[:2]):
            (better,) = parse(script(pasted(declared, fix), asked)).queries
            after = check_query(better)
            assert after.verdict == "bounded", (fix, text)
            assert not unkept_bounds(plan_of(better, after)), (fix, text)
            fixed += 1
    assert bounded > SCRIPTS / 10
    assert fixed > SCRIPTS


STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0);\n" for name in "abc"
)


def test_a_query_that_cannot_be_run_says_so_when_it_is_checked() -> None:
    select = "SELECT a.k FROM a [ROWS 5] LEFT JOIN b [ROWS 5] ON a.k = b.k LEFT JOIN c [ROWS 5] ON b.k = c.k;"

    def refusals(streams: str) -> list[str]:
        (query,) = parse(streams + select).queries
        verdict = judged(query)
        assert verdict.verdict == "bounded"
        return [n for n in each_told(verdict.notices) if n.startswith("this version cannot run the query")]

    assert refusals(STREAMS) == []
    named = [f"CREATE STREAM {name} (k BIGINT, s STRING, ARRIVES BY s);\n" for name in "abc"]
    (notice,) = refusals("".join(named))
    assert "rows cannot be counted across streams that arrive by STRING" in notice


NESTED = """
CREATE STREAM c (k BIGINT);
CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0, FOLLOWS c (k) ON (k) WITHIN 5 ROWS);
CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0, FOLLOWS c (k) ON (k) WITHIN 5 ROWS);
"""


def test_a_block_that_does_not_close_itself_leaves_over_the_stream_that_keeps_it() -> None:
    """A row of c has nothing that closes b, but a closes for it, and b for each row of a that it met."""
    band = "b.ts - a.ts BETWEEN 0 AND 5"
    text = f"{NESTED} SELECT a.k, b.ts FROM b JOIN c ON b.k = c.k RIGHT JOIN a ON a.k = b.k AND {band};"
    (query,) = parse(text).queries
    before = check_query(query)
    assert [e.alias for e in before.streams if not isinstance(e.finding, Bounded)] == ["c"]
    (query,) = parse(text.replace("c (k BIGINT)", "c (k BIGINT, FOLLOWS a (k) ON (k) WITHIN 3 ROWS)")).queries
    verdict = check_query(query)
    plan = plan_of(query, verdict)
    assert verdict.verdict == "bounded"
    assert not plan.inner
    assert [node.block.beyond for node in plan.tree.nodes if node.block is not None] == [(), ("a",)]
    assert not unkept_bounds(plan)
