"""Rewrites beside the original query, counted naively on random streams that keep the declarations.

The oracle: entities that leave rows on up to three streams, each at random lags; rows that break a declaration are
taken out by a checker that reads the declarations one by one in plain loops. The original query is every combination of
rows, its conditions tried one by one. The counts are those of the rewriting. For every window the answer may be off by
no more than the rows of the root near the two ends of the window, whatever comes; for a single join or anti-join by no
more than those at one of them, which is epsilon / k of them if they come evenly; where it is exact, not at all. And it
lies between the limits that WITH BOUNDS gives, however rows come.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from penstock.analysis.rewriting.counts import Rewriting
from penstock.compile import check, parse
from penstock.model.predicates import Bound, Comparison, Difference, Op, Predicate, aliases_of
from penstock.model.query import Query
from penstock.model.schemes import ForeignKey, PrimaryKey, Scheme, StreamKey, reference_of
from penstock.model.spans import Window
from penstock.runtime.lag_sample import Counted, Entities, Lags, measure
from tests.measure import size

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Kinds = tuple[type[Scheme], ...]
SECOND = 1_000_000
KINDS: Kinds = (PrimaryKey, ForeignKey, StreamKey)


def _script(chosen: random.Random) -> str:
    """A chain of two or three streams with random declarations, and a random count over them."""
    names = ["r", "s", "t"][: chosen.randint(2, 3)]
    text = ""
    grouped = chosen.random() < 0.25
    reaches = []
    for place, name in enumerate(names):
        schemes = ["PRIMARY KEY (id)"] if chosen.random() < 0.97 else []
        schemes += ["CHECK (k IS NOT NULL)"] if grouped else []
        if place:
            early, late = chosen.randint(0, 4), chosen.choice([0, 0, 0, 1])
            reaches.append((early, late))
            if chosen.random() < 0.97:
                window = f"WINDOW [-{early} SECONDS, {late} SECONDS]"
                schemes.append(f"FOREIGN KEY (id, k) REFERENCES {names[place - 1]} (id, k) {window}")
        for other in names[place + 1 :]:
            wide = chosen.randint(2, 12)
            schemes.append(f"STREAM KEY (k) SPANS {other} WINDOW [-{chosen.randint(0, 3)} SECONDS, {wide} SECONDS]")
        parts = ", ".join(["k BIGINT", "v INT", "id VIRTUAL", "ts TIMESTAMP", "EVENT TIME ts", *schemes])
        text += f"CREATE STREAM {name} ({parts});\n"
    inside, where = [names[0]], []
    since = (0, 0)
    for name, (early, late) in zip(names[1:], reaches, strict=True):
        # A row is tied to the last source of FROM, over the windows of all streams between the two.
        since = since[0] + early, since[1] + late
        most, least = since[0] + chosen.choice([0, 0, 0, 1, -1]), since[1] + chosen.choice([0, 0, 1])
        lag = f"{name}.ts - {inside[-1]}.ts"
        tie = f"{inside[-1]}.k = {name}.k AND {lag} <= INTERVAL '{most}' SECOND AND {lag} >= INTERVAL '-{least}' SECOND"
        kind = chosen.choice(["", "", "EXISTS", "NOT EXISTS"])
        if kind:
            tie += f" AND {name}.v > 0" if chosen.random() < 0.2 else ""
            where.append(f"{kind} (SELECT 1 FROM {name} WHERE {tie})")
        else:
            where.append(tie)
            inside.append(name)
            since = (0, 0)
    if chosen.random() < 0.2:
        where.append(f"{chosen.choice(inside)}.v > 0")
    root = chosen.choice(inside)
    period = chosen.choice([6, 10, 20])
    return (
        f"{text}SELECT window({root}.ts, '{period} seconds').start AS tb, count(*) AS n FROM {', '.join(inside)} "
        f"WHERE {' AND '.join(where)} GROUP BY window({root}.ts, '{period} seconds'){f', {root}.k' if grouped else ''};"
    )


def _streams(chosen: random.Random, query: Query, made: Rewriting, kept: Kinds = KINDS) -> Rows:
    """Random rows of entities, in every second case all near the ends of windows; those kinds of declarations hold."""
    rows: Rows = {source.stream.name: [] for source in query.all_sources}
    at_the_edge = chosen.random() < 0.5
    for entity in range(chosen.randint(5, 25)):
        at = chosen.randint(0, 60 * 4) * SECOND // 4
        if at_the_edge:
            at = at // made.period * made.period + chosen.randint(-6, 6) * SECOND // 4
        k = chosen.randint(0, 4)
        for name in rows:
            if chosen.random() < 0.85:
                null = not query.group_by[1:] and chosen.random() < 0.05
                row = {"id": entity, "k": None if null else k, "v": chosen.randint(-1, 2), "ts": at}
                rows[name] += [row, {**row, "ts": at + SECOND // 2}] if chosen.random() < 0.1 else [row]
            at += chosen.randint(-4, 16) * SECOND // 4
    while (found := _breaking(rows, query, kept)) is not None:
        rows[found[0]].remove(found[1])
    return rows


def _within(window: Window | None, lag: int) -> bool:
    low, high = (window.low, window.high) if window is not None else (None, None)
    return (low is None or lag >= low.ticks) and (high is None or lag <= high.ticks)


def _breaking(rows: Rows, query: Query, kept: Kinds) -> tuple[str, Row] | None:
    """A row that breaks a declaration of one of those kinds."""
    for source in query.all_sources:
        name = source.stream.name
        schemes = [scheme for scheme in source.stream.schemes if isinstance(scheme, kept)]
        for scheme, row in itertools.product(schemes, rows[name]):
            if isinstance(scheme, PrimaryKey):
                if sum(other["id"] == row["id"] for other in rows[name]) > 1:
                    return name, row
                continue
            reference = reference_of(scheme)
            if reference is None or reference.stream not in rows:
                continue
            own = [row[c] for c, _ in reference.pairs]
            agreeing = [
                o for o in rows[reference.stream] if None not in own and own == [o[c] for _, c in reference.pairs]
            ]
            match scheme:
                case ForeignKey():
                    if None not in own and not any(_within(scheme.window, o["ts"] - row["ts"]) for o in agreeing):
                        return name, row
                case StreamKey():
                    for o in agreeing:
                        if _within(scheme.window, o["ts"] - row["ts"]) and any(
                            o[c] != row[c] for c in ("id", "k", "v")
                        ):
                            return name, row
    return None


def _holds(predicate: Predicate, rows: dict[str, Row]) -> bool:
    match predicate:
        case Comparison(left=left, op=Op.EQ, right=right):
            one, other = rows[left.alias][left.column], rows[right.alias][right.column]
            return one is not None and one == other
        case Difference(minuend=later, subtrahend=earlier, op=op, span=span):
            lag = rows[later.alias][later.column] - rows[earlier.alias][earlier.column]
            return bool(lag <= span.ticks if op is Op.LE else lag >= span.ticks)
        case Bound(column=column, constant=constant):
            return bool(rows[column.alias][column.column] > constant.value)
        case _:
            raise AssertionError(predicate)


Group = tuple[int, int | None]
"""A window, and the value of the further group, if there is one."""


def _group(query: Query, row: Row, made: Rewriting) -> Group:
    return row["ts"] // made.period, row["k"] if query.group_by[1:] else None


def _naive(query: Query, rows: Rows, made: Rewriting) -> Counter[Group]:
    """The original query, combination by combination."""
    found: Counter[Group] = Counter()
    names = [source.alias for source in query.sources]
    for combination in itertools.product(*(rows[name] for name in names)):
        together = dict(zip(names, combination, strict=True))
        if not all(_holds(p, together) for p in query.where):
            continue
        for existence in query.existences:
            other = existence.source.alias
            exists = any(all(_holds(p, {**together, other: row}) for p in existence.condition) for row in rows[other])
            if exists is existence.negated:
                break
        else:
            found[_group(query, together[made.root], made)] += 1
    return found


def _counted(query: Query, rows: Rows, made: Rewriting, alias: str) -> list[Row]:
    """The rows of a source that the rewriting counts."""
    negated = {e.source.alias: e.condition for e in query.existences if e.negated}
    conditions = negated.get(alias, [p for p in query.predicates if not aliases_of(p) & set(negated)])
    own = [p for p in conditions if aliases_of(p) == {alias}]
    needed = [ref.column for p in conditions for ref in p.columns if ref.alias == alias]
    shown = [row for row in rows[alias] if all(row[c] is not None for c in needed)]
    assert any("k IS NOT NULL" in text for text in made.source(alias).conditions) is ("k" in needed)
    return [row for row in shown if all(_holds(p, {alias: row}) for p in own)]


def _near(rows: list[Row], group: Group, made: Rewriting, end: int) -> int:
    """The root's rows so near to an end of a window that their match may lie beyond it."""
    late = max(max(source.high, 0) for source in made.sources)
    early = max(max(-source.low, 0) for source in made.sources)
    at = (group[0] + end) * made.period
    return sum(at - late <= row["ts"] < at + early and group[1] in (None, row["k"]) for row in rows)


def _limits(counted: dict[str, list[Row]], group: Group, made: Rewriting) -> tuple[int, int]:
    """What WITH BOUNDS gives: limits from the rows on both sides of each end, in the root and in what crossed."""
    begin, end = group[0] * made.period, (group[0] + 1) * made.period

    def between(alias: str, low: int, high: int) -> int:
        return sum(low <= row["ts"] < high and group[1] in (None, row["k"]) for row in counted[alias])

    def crossed(alias: str) -> tuple[int, int]:
        late, early = max(made.source(alias).high, 0), max(-made.source(alias).low, 0)
        entered = min(between(made.root, begin - late, begin), between(alias, begin, begin + late))
        entered += min(between(made.root, end, end + early), between(alias, end - early, end))
        left = min(between(made.root, end - late, end), between(alias, end, end + late))
        left += min(between(made.root, begin, begin + early), between(alias, begin - early, begin))
        return entered, left

    entered, left = crossed(made.counted)
    inside = between(made.counted, begin, end)
    low, high = inside - entered, min(between(made.root, begin, end), inside + left)
    if made.removed is not None:
        entered, left = crossed(made.removed)
        inside = between(made.removed, begin, end)
        low, high = low - inside - left, high - max(inside - entered, 0)
    return max(low, 0), max(high, 0)


def _violations(counted: dict[str, list[Row]], group: Group, made: Rewriting) -> int:
    """What the sample of WITH BOUNDS counts in a window, if every entity is in it."""
    begin, margin = group[0] * made.period, made.sight
    found = {
        alias: [
            r for r in rows if begin - margin <= r["ts"] < begin + made.period + margin and group[1] in (None, r["k"])
        ]
        for alias, rows in counted.items()
    }
    entities = {
        alias: Entities(
            np.array([-1 if r["k"] is None else r["k"] for r in rows], np.int64),
            np.array([r["ts"] for r in rows], np.int64),
        )
        for alias, rows in found.items()
    }

    def beside(alias: str | None) -> Counted | None:
        if alias is None or alias == made.root:
            return None
        source = made.source(alias)
        lags, promised = Lags(source.low, source.high), Lags(source.partner_low, source.partner_high)
        return Counted(entities[alias], lags, promised, Lags(source.asked_low, source.asked_high))

    shown = measure(entities[made.root], beside(made.counted), beside(made.removed), begin, begin + made.period)
    return shown.breaking


@dataclass(frozen=True)
class Answer:
    """What counts say of a window and group beside the original, and the root's rows near to its two ends."""

    group: Group
    counts: int
    truth: int
    ends: tuple[int, int]
    counted: dict[str, list[Row]]

    @property
    def error(self) -> int:
        return abs(max(self.counts, 0) - self.truth)


def _answers(query: Query, rows: Rows, made: Rewriting) -> Iterator[Answer]:
    truth = _naive(query, rows, made)
    counted = {source.alias: _counted(query, rows, made, source.alias) for source in made.sources}
    buckets = {alias: Counter(_group(query, row, made) for row in found) for alias, found in counted.items()}
    for group in set(truth) | {bucket for found in buckets.values() for bucket in found}:
        answer = min(buckets[made.root][group], buckets[made.counted][group])
        answer -= 0 if made.removed is None else buckets[made.removed][group]
        ends = _near(counted[made.root], group, made, 0), _near(counted[made.root], group, made, 1)
        yield Answer(group, answer, truth[group], ends, counted)


@cache
def _rewrites() -> tuple[tuple[Query, Rewriting], ...]:
    """Random queries whose joins are replaced by counts."""
    chosen = random.Random(11)
    scripts = (parse(_script(chosen)) for _ in range(size(250, 4000)))
    found = ((script.queries[0], check(script).rewrite.rewriting) for script in scripts)
    return tuple((query, made) for query, made in found if made is not None)


@pytest.mark.measure
def test_every_rewrite_is_within_its_bound() -> None:
    chosen = random.Random(12)
    inexact = windows = nonzero = narrow = 0
    for query, made in _rewrites():
        for _ in range(4):
            rows = _streams(chosen, query, made)
            for answer in _answers(query, rows, made):
                both = sum(answer.ends)
                limit = both if made.counted != made.root and made.removed is not None else max(answer.ends)
                case = (query, rows, answer)
                assert answer.error <= (0 if made.is_exact else both), case
                if all(source.low >= 0 for source in made.sources):
                    assert answer.error <= limit, case
                low, high = _limits(answer.counted, answer.group, made)
                assert low <= answer.truth <= high, case
                windows += 1
                narrow += high - low < both
                inexact += answer.error > 0
                nonzero += answer.truth > 0
    fired, grouped = len(_rewrites()), sum(bool(made.group_names) for _, made in _rewrites())
    print(f"{fired} rewrites ({grouped} with groups), {windows} windows, {nonzero} with results, {inexact} not exact")
    assert fired > size(30, 500)
    assert grouped > size(5, 80)
    assert nonzero > fired
    assert 0 < inexact < windows
    assert narrow > 0


@pytest.mark.measure
def test_what_breaks_a_declaration_adds_as_much_as_the_sample_says() -> None:
    """Where all streams are counted, so that the sample can see what is broken."""
    chosen = random.Random(13)
    beyond = windows = 0
    for query, made in _rewrites():
        if len(made.sources) < len(query.all_sources):
            continue
        for _ in range(4):
            rows = _streams(chosen, query, made, ())
            for answer in _answers(query, rows, made):
                seen = _violations(answer.counted, answer.group, made)
                assert answer.error <= sum(answer.ends) + seen, (query, rows, answer, seen)
                beyond += answer.error > sum(answer.ends)
                windows += 1
    print(f"{windows} windows, {beyond} beyond what the ends explain")
    assert beyond > 0


@pytest.mark.parametrize("broken", KINDS)
def test_without_one_of_its_preconditions_a_rewrite_would_be_caught(broken: type[Scheme]) -> None:
    """What the other tests could not see if it were never so: each kind of declaration is needed for the bound."""
    chosen = random.Random(14)
    kept = tuple(kind for kind in KINDS if kind is not broken)
    for query, made in _rewrites():
        rows = _streams(chosen, query, made, kept)
        if any(answer.error > sum(answer.ends) for answer in _answers(query, rows, made)):
            return
    raise AssertionError(f"no window is beyond its bound where {broken.__name__} is broken")
