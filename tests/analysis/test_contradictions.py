"""Declarations of views that nothing could keep, against brute force: all rows, and all pairs, over small values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

import penstock
from penstock.analysis.contradictions import contradictions
from penstock.errors import ScriptErrors
from penstock.sql import parse_script
from tests.measure import each, seeds

_STREAMS = """
CREATE STREAM s (x BIGINT, y BIGINT, ts BIGINT, EVENT TIME ts);
CREATE STREAM t (x BIGINT, y BIGINT, ts BIGINT, EVENT TIME ts, PRIMARY KEY (x){of_t});
"""
_VALUES = range(-1, 7)
_OPS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=="}


def _condition(draw: random.Random) -> tuple[str, str]:
    """A condition on x and y, and what it is in Python."""
    column, op = draw.choice("xy"), draw.choice(list(_OPS))
    if draw.random() < 0.3:
        return f"x {op} y", f"x {_OPS[op]} y"
    if draw.random() < 0.2:
        constants = sorted(draw.sample(range(6), 2))
        is_in = draw.random() < 0.5
        listed = f"({constants[0]}, {constants[1]})"
        return f"{column} {'' if is_in else 'NOT '}IN {listed}", f"{column} {'in' if is_in else 'not in'} {listed}"
    constant = draw.randint(0, 5)
    return f"{column} {op} {constant}", f"{column} {_OPS[op]} {constant}"


def test_a_check_is_contradicted_only_where_no_row_could_be() -> None:
    found = 0
    for seed in each(seeds(100, 300, 20_000)):
        draw = random.Random(seed)
        conditions = list({_condition(draw): None for _ in range(draw.randint(2, 4))})
        kept = draw.randint(0, len(conditions) - 1)
        where = " AND ".join(text for text, _ in conditions[:kept]) or "TRUE"
        checks = ", ".join(f"CHECK ({text})" for text, _ in conditions[kept:])
        view = f"CREATE VIEW v ({checks}) AS SELECT x, y, ts FROM s WHERE {where}"
        script = f"{_STREAMS.format(of_t='')} {view}; SELECT x FROM v"
        rows = [{"x": x, "y": y} for x, y in itertools.product(_VALUES, repeat=2)]
        may_be = any(all(eval(python, {}, row) for _, python in conditions) for row in rows)
        is_found = _is_refused(script)
        assert not (is_found and may_be), f"seed {seed}\n{script}"
        found += is_found
    assert found > 30


def _is_refused(script: str) -> bool:
    parse_script(script)
    try:
        penstock.parse(script)
    except ScriptErrors:
        return True
    return False


def test_a_window_is_contradicted_only_where_no_pair_could_be() -> None:
    found = 0
    for seed in each(seeds(500, 300, 20_000)):
        draw = random.Random(seed)
        said = [_window(draw) for _ in range(draw.randint(2, 3))]
        own = [text for text, _, _, is_turned in said if not is_turned]
        of_t = "".join(f", {text}" for text, _, _, is_turned in said if is_turned)
        if not own or len({text for text, *_ in said}) < len(said):
            continue
        view = f"CREATE VIEW v ({', '.join(own)}) AS SELECT x, y, ts FROM s"
        script = f"{_STREAMS.format(of_t=of_t)} {view}; SELECT x FROM v"
        # A pair that agrees on all columns that are named, whatever else it agrees on.
        apart = [gap for gap in range(-30, 31) if all(keeps(gap) for _, keeps, _, _ in said)]
        is_found = _is_refused(script)
        assert not (is_found and apart), f"seed {seed}\n{script}"
        found += is_found
    assert found > 15


def _window(draw: random.Random) -> tuple[str, Callable[[int], bool], str, bool]:
    low = draw.randint(-9, 6)
    high = low + draw.randint(0, 6)
    columns = draw.choice(("x", "x, y"))
    is_turned = draw.random() < 0.3
    other = "v" if is_turned else "t"
    if draw.random() < 0.3 and high >= 0:
        text = f"FOLLOWS {other} ({columns}) ON ({columns}) WITHIN {high}"
        return text, (lambda gap: -gap <= high) if is_turned else (lambda gap: gap <= high), columns, is_turned
    if draw.random() < 0.3 and not is_turned:
        text = f"FOREIGN KEY ({columns}) REFERENCES t ({columns}) WINDOW [{low}, {high}]"
        return text, lambda gap: low <= gap <= high, columns, False
    text = f"COOCCURS ({columns}) AND {other} ({columns}) WINDOW [{low}, {high}]"
    return text, (lambda gap: low <= (-gap if is_turned else gap) <= high), columns, is_turned


@pytest.mark.parametrize(
    ("view", "place"),
    [
        ("v (CHECK (y > 0), CHECK (x < 3)) AS SELECT x, y, ts FROM s WHERE x > 5", 1),
        ("v (CHECK (x IS NULL)) AS SELECT x, y, ts FROM s WHERE x > 5", 0),
        ("v (PRIMARY KEY (x), CHECK (x IS NULL)) AS SELECT x, y, ts FROM s", 1),
        ("v (CHECK (y < x)) AS SELECT s.x, t.y, s.ts FROM s JOIN t ON s.x <= t.y AND s.ts = t.ts", 0),
        ("v (CHECK (x > 5)) AS SELECT x, ts FROM s WHERE x < 3 UNION ALL SELECT x, ts FROM t WHERE x < 3", 0),
        (
            "v (FOREIGN KEY (x) REFERENCES t WINDOW [1, 2], COOCCURS (x) AND t (x) WINDOW [3, 4]) AS SELECT * FROM s",
            1,
        ),
    ],
)
def test_the_declaration_that_is_contradicted_is_the_one_that_is_named(view: str, place: int) -> None:
    script = parse_script(f"{_STREAMS.format(of_t='')} CREATE VIEW {view}; SELECT x FROM v")
    (source,) = script.queries[0].sources
    assert source.below is not None
    assert [one.place for one in contradictions(source.stream, source.below, script.streams)] == [place]


@pytest.mark.parametrize(
    ("conditions", "is_refused"),
    [
        ("price < 3 | price > 5", True),
        ("price < 3 | price >= 3", True),
        ("price <= 3 | price >= 3", False),
        ("price <= 0.1 | price >= 0.10000000000000000001", False),
        ("price = 3 | price > 3", True),
        ("price <> 3 | price > 3", False),
        ("at < TIMESTAMP '2024-01-01 00:00:00' | at > TIMESTAMP '2025-01-01 00:00:00'", True),
        ("at < TIMESTAMP '2024-03-31 02:59:00' | at > TIMESTAMP '2024-03-31 03:00:00'", False),
    ],
)
def test_limits_of_columns_without_steps(conditions: str, is_refused: bool) -> None:
    stream = "CREATE STREAM r (price DOUBLE, at TIMESTAMP)"
    below, declared = conditions.split(" | ")
    view = f"CREATE VIEW v (CHECK ({declared})) AS SELECT price, at FROM r WHERE {below}"
    assert _is_refused(f"{stream}; {view}; SELECT price FROM v") == is_refused


@pytest.mark.parametrize(
    "view",
    [
        "v (CHECK (x < 3), CHECK (x IS NULL)) AS SELECT x, y, ts FROM s",
        "v (CHECK (x > 5)) AS SELECT x, ts FROM s WHERE x < 3 UNION ALL SELECT x, ts FROM t",
        "v (CHECK (x > 5)) AS SELECT x, ts FROM s WHERE x < 3 AND x > 4",
        "v (CHECK (y > 5)) AS SELECT s.x, t.y, s.ts FROM s LEFT JOIN t ON s.x = t.x AND s.ts = t.ts AND t.y < 3",
        "v (COOCCURS (x) AND t (x) WINDOW [0, 1], COOCCURS (y) AND t (y) WINDOW [3, 4]) AS SELECT x, y, ts FROM s",
        "v (FOREIGN KEY (x) REFERENCES t WINDOW [0, 1], FOREIGN KEY (x) REFERENCES t WINDOW [3, 4]) AS SELECT * FROM s",
        "v (FOREIGN KEY (x) REFERENCES t WINDOW [0, 1], COOCCURS (x, y) AND t (x, y) WINDOW [3, 4]) AS SELECT * FROM s",
    ],
)
def test_what_some_rows_keep_is_no_contradiction(view: str) -> None:
    penstock.parse(f"{_STREAMS.format(of_t='')} CREATE VIEW {view}; SELECT x FROM v")
