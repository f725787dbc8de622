"""Trees of blocks at the core, against DuckDB over the full history.

Random views over random views, on random batches, cells and restarts. Beside the answer two things are looked at, batch
by batch: no block emits a row below a frontier that it told before, and once time has gone on far enough nothing is
stored any more (the frontiers move on).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.testing import Run
from tests.blocks import with_views
from tests.measure import size

LATE = 3
STREAMS = "\n".join(
    f"CREATE STREAM {name} (k BIGINT, t BIGINT, n BIGINT, EVENT TIME t, ORDERED BY t WITHIN {LATE}{{0}});"
    for name in "abc"
)
NOT_NULL = ", CHECK (t IS NOT NULL)"


@dataclass(frozen=True)
class Select:
    """A SELECT of k, t and n over two relations, as Penstock and as DuckDB have it."""

    text: str
    oracle: str | None = None

    def over(self, left: str, right: str) -> tuple[str, str]:
        return self.text.format(x=left, y=right), (self.oracle or self.text).format(x=left, y=right)


NEAR = "x.k = y.k AND y.t - x.t BETWEEN -4 AND 6"
GROUPED = "GROUP BY {of}.k, window({of}.t, 10)"
ORACLE_GROUPED = "GROUP BY {of}.k, (floor({of}.t / 10.0) * 10 + 10)::BIGINT"
JOINS = {
    "join": Select(f"SELECT x.k AS k, x.t AS t, y.n AS n FROM {{x}} x, {{y}} y WHERE {NEAR}"),
    "left": Select(f"SELECT x.k AS k, x.t AS t, y.n AS n FROM {{x}} x LEFT JOIN {{y}} y ON {NEAR}"),
    "right": Select(f"SELECT y.k AS k, y.t AS t, x.n AS n FROM {{x}} x RIGHT JOIN {{y}} y ON {NEAR}"),
    "left, with the optional time": Select(
        f"SELECT x.k AS k, y.t AS t, x.n AS n FROM {{x}} x LEFT JOIN {{y}} y ON {NEAR}"
    ),
    "exists": Select(
        f"SELECT x.k AS k, x.t AS t, x.n AS n FROM {{x}} x WHERE EXISTS (SELECT 1 FROM {{y}} y WHERE {NEAR})"
    ),
    "not exists": Select(
        f"SELECT x.k AS k, x.t AS t, x.n AS n FROM {{x}} x WHERE NOT EXISTS (SELECT 1 FROM {{y}} y WHERE {NEAR})"
    ),
    "distinct": Select(f"SELECT DISTINCT x.k AS k, x.t AS t, y.n AS n FROM {{x}} x, {{y}} y WHERE {NEAR}"),
    "distinct of one": Select("SELECT DISTINCT x.k AS k, x.t AS t, x.n AS n FROM {x} x"),
    "groups of one": Select(
        "SELECT x.k AS k, window(x.t, 10).end AS t, count(*) AS n FROM {x} x GROUP BY x.k, window(x.t, 10)",
        "SELECT x.k AS k, (floor(x.t / 10.0) * 10 + 10)::BIGINT AS t, count(*) AS n FROM {x} x "
        "WHERE x.t IS NOT NULL GROUP BY ALL",
    ),
    "groups": Select(
        f"SELECT x.k AS k, window(y.t, 10).end AS t, sum(x.n) AS n FROM {{x}} x, {{y}} y WHERE {NEAR} "
        "GROUP BY x.k, window(y.t, 10)",
        "SELECT x.k AS k, (floor(y.t / 10.0) * 10 + 10)::BIGINT AS t, sum(x.n)::BIGINT AS n FROM {x} x, {y} y "
        f"WHERE {NEAR} GROUP BY ALL",
    ),
    "sliding groups": Select(
        "SELECT x.k AS k, window(x.t, 10, 5).end AS t, count(*) AS n FROM {x} x GROUP BY x.k, window(x.t, 10, 5)",
        "SELECT k, t, count(*) AS n FROM (SELECT x.k AS k, unnest([(floor(x.t / 5.0) * 5 + 5)::BIGINT, "
        "(floor(x.t / 5.0) * 5 + 10)::BIGINT]) AS t FROM {x} x WHERE x.t IS NOT NULL) GROUP BY ALL",
    ),
    "groups by the time itself": Select(
        f"SELECT x.k AS k, x.t AS t, count(*) AS n FROM {{x}} x, {{y}} y WHERE {NEAR} GROUP BY x.k, x.t",
    ),
    "starts of groups": Select(
        "SELECT x.k AS k, window(x.t, 10).start AS t, max(x.n) AS n FROM {x} x GROUP BY x.k, window(x.t, 10)",
        "SELECT x.k AS k, (floor(x.t / 10.0) * 10)::BIGINT AS t, max(x.n) AS n FROM {x} x "
        "WHERE x.t IS NOT NULL GROUP BY ALL",
    ),
}
OPTIONAL = "left, with the optional time"
"""The one whose t may be NULL; it has a clock all the same, which DISTINCT above it cannot rest on."""

Row = tuple[int | None, int | None, int | None]


@dataclass(frozen=True)
class Case:
    below: str
    between: str | None
    top: str
    mirrored: bool
    batches: tuple[dict[str, list[Row]], ...]
    cells: int
    restarts: frozenset[int]


@st.composite
def batches(draw: st.DrawFn) -> tuple[dict[str, list[Row]], ...]:
    clocks = dict.fromkeys("abc", 0)
    found = []
    for _ in range(draw(st.integers(2, 7))):
        batch: dict[str, list[Row]] = {}
        for name in draw(st.sets(st.sampled_from("abc"))):
            rows: list[Row] = []
            for _ in range(draw(st.integers(1, 5))):
                clocks[name] += draw(st.integers(0, 6))
                time = None if draw(st.integers(0, 14)) == 0 else clocks[name] - draw(st.integers(0, LATE))
                key = None if draw(st.integers(0, 14)) == 0 else draw(st.integers(0, 2))
                rows.append((key, time, draw(st.one_of(st.none(), st.integers(0, 3)))))
            batch[name] = rows
        found.append(batch)
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = st.sampled_from(list(JOINS))
    known = draw(batches())
    return Case(
        draw(names),
        draw(st.one_of(st.none(), names)),
        draw(names),
        draw(st.booleans()),
        known,
        draw(st.sampled_from([1, 3])),
        frozenset(draw(st.sets(st.integers(0, len(known))))),
    )


def table(rows: list[Row]) -> Any:
    return pa.table({c: pa.array([row[n] for row in rows], pa.int64()) for n, c in enumerate("ktn")})


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def expected(streams: dict[str, list[Row]], views: dict[str, str], query: str) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as memory:
        for name, rows in streams.items():
            memory.register(name, table(rows))
        for name, select in views.items():
            memory.execute(f"CREATE VIEW {name} AS {select}")
        return Counter(memory.execute(query).fetchall())


class Watched:
    """A run of which every block's answer is compared with the frontiers that it told before."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.told: dict[str, dict[str, int]] = {block.plan.query: {} for block in run.blocks}

    def see(self) -> None:
        for block, step in zip(self.run.blocks, self.run.steps, strict=True):
            told = self.told[block.plan.query]
            for column, least in told.items():
                found = pc.min(step.rows.column(column)).as_py()
                assert found is None or found >= least, (block.plan.query, column)
            for column, ticks in step.frontier.items():
                told[column] = max(ticks, told.get(column, ticks))


def run_case(case: Case) -> None:
    below, below_oracle = JOINS[case.below].over("a", "b")
    views, oracles, last = {"v": below}, {"v": below_oracle}, "v"
    if case.between is not None:
        pair = ("c", "v") if case.mirrored else ("v", "c")
        views["w"], oracles["w"] = JOINS[case.between].over(*pair)
        last = "w"
    pair = ("c", last) if case.mirrored else (last, "c")
    top, top_oracle = JOINS[case.top].over(*pair)
    has_nulls = any(time is None for batch in case.batches for rows in batch.values() for _, time, _ in rows)
    script = with_views(STREAMS.format("" if has_nulls else NOT_NULL), views, top)
    is_bounded = check_query(script.queries[0]).verdict == "bounded"
    assert is_bounded or has_nulls or OPTIONAL in (case.below, case.between)
    run = Run(script, cells=case.cells)
    watched = Watched(run)
    used = {s.stream for plan in run.plan.all_blocks for s in plan.sources if s.block is None}
    history: dict[str, list[Row]] = {name: [] for name in "abc"}
    found: Counter[tuple[Any, ...]] = Counter()
    violations: Counter[str] = Counter()

    def step(batch: dict[str, list[Row]]) -> dict[str, Any]:
        for name, rows in batch.items():
            history[name] += rows
        made = run.step({name: table(rows) for name, rows in batch.items() if name in used})
        watched.see()
        found.update(bag(made.rows))
        violations.update(made.metrics["violations"])
        return made.metrics

    for number, batch in enumerate(case.batches):
        if number in case.restarts:
            run.restart()
        step(batch)
    if len(case.batches) in case.restarts:
        run.restart()
    # Time goes on, for keys of their own: nothing of before is stored then.
    far = [step({name: [(9, time, None)] for name in "abc"}) for time in range(1000, 1400, 40)]
    sizes = [sum(line["state_rows"].values()) for line in far]
    assert not is_bounded or sizes[-1] <= max(sizes[2:5])
    found.update(bag(run.end().rows))
    watched.see()
    assert not violations
    assert found == expected(history, oracles, top_oracle)


@given(cases())
@settings(max_examples=size(40, 3000), deadline=None, suppress_health_check=list(HealthCheck))
def test_views_over_views_give_what_the_full_history_gives(case: Case) -> None:
    run_case(case)


@pytest.mark.thorough
@pytest.mark.parametrize("top", JOINS)
@pytest.mark.parametrize("below", JOINS)
def test_each_pair_once(below: str, top: str) -> None:
    rows: dict[str, list[Row]] = {
        "a": [(1, 0, 1), (2, 3, 2), (None, 4, 3), (1, None, 4), (1, 9, 5)],
        "b": [(1, 2, 1), (2, 2, 2), (2, 9, 3), (1, 12, 4)],
        "c": [(1, 1, 1), (2, 8, 2), (1, 14, 3), (1, 14, 3)],
    }
    one = {name: given[:2] for name, given in rows.items()}
    other = {name: given[2:] for name, given in rows.items()}
    run_case(Case(below, None, top, False, (one, other), 1, frozenset({1})))
    run_case(Case(below, None, top, True, (other, {}), 3, frozenset()))
