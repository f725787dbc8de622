"""Merging: the answer of the full history from a bounded number of rows (MEMORY, sections 7.1 and 7.2).

Random queries that MEMORY admits run on random batches, with restarts; what comes out of each batch is what the slow
reference has filed under it, and what is stored never exceeds the bound that `check` states. The reference knows
nothing of buckets, counts or extremes.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import penstock
import penstock.testing
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Verdict
from penstock.explain.reason_words import told
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.plan.merge_rows import without_covered
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import unkept_bounds
from penstock.runtime import Batch, Cell, Chunk, GroupStage
from tests.analysis.build import query as build_query
from tests.analysis.build import source, stream, where
from tests.analysis.test_memory_lto import beside_itself, built, plain_query, with_itself
from tests.measure import size
from tests.runtime.driving import Driver, plan_of, rows_of
from tests.runtime.reference import Arrived, History, _agree, answer

PAPER = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT); CREATE STREAM t (d BIGINT, e BIGINT);"
Q3 = "a FROM s, t WHERE a = d AND a > 10 AND d < 20"
Q4 = "a FROM s, t WHERE b < d AND a = 10"
Q6 = "a FROM s, t WHERE b < d AND c < e AND b < e AND c < d AND a = 10"
Q7 = "a FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10"


class Run:
    """A query on cells that may be restarted, with its second stage, beside the history of all rows."""

    def __init__(self, query: Query, verdict: Verdict) -> None:
        self.query = query
        self.plan = make_plan(query, verdict)
        self.bounds = {e.alias: e.finding.rows for e in verdict.streams if isinstance(e.finding, Bounded)}
        self.cell, self.distinct = Cell(self.plan), GroupStage(self.plan)
        self.history: History = {name: [] for name in self.plan.streams}
        self._store: dict[str, bytes] = {}
        self._number = 0

    def step(self, rows: dict[str, list[dict[str, Any]]], kinds: dict[str, Any]) -> Counter[tuple[Any, ...]]:
        """One batch, and what it adds to the answer; the state must be within its bounds after it."""
        chunks = []
        for name in self.plan.streams:
            given = rows[name]
            aliases = [source.alias for source in self.plan.sources if source.stream == name]
            names = [c.name for c in self.query.by_alias[aliases[0]].stream.columns]
            table = pa.table({n: pa.array([row[n] for row in given], kinds.get(n, pa.int64())) for n in names})
            arrived = [Arrived(self._number, len(self.history[name]) + n, row) for n, row in enumerate(given)]
            passes = {a: pa.array([self._passes(a, row) for row in arrived], pa.bool_()) for a in aliases}
            chunks.append(Chunk.of(self.plan, name, 0, table, passes))
            self.history[name] += arrived
        result = self.cell.step(Batch(self._number, tuple(chunks)))
        given_out = result.rows if not self.query.distinct else self.distinct.step(self._number, result.rows, {}).rows
        self._number += 1
        for alias, bound in self.bounds.items():
            if alias in result.metrics.state_rows:
                assert bound is not None
                assert result.metrics.state_rows[alias] == self.cell.synopses[alias].live <= bound, self.query
        return (
            Counter(zip(*(c.to_pylist() for c in given_out.columns), strict=True)) if given_out.num_rows else Counter()
        )

    def _passes(self, alias: str, row: Arrived) -> bool:
        single = [p for p in self.query.predicates if aliases_of(p) == {alias}]
        return not single or _agree(self.query, {alias: row}, alias)

    def restart(self) -> None:
        """Save the cell and go on with one restored from what was saved."""
        changes = self.cell.save()
        self._store = {k: v for k, v in {**self._store, **changes.put}.items() if k not in changes.delete}
        self.cell = Cell.restore(self.plan, self._store)


def check_against_reference(
    run: Run, batches: list[dict[str, list[dict[str, Any]]]], kinds: dict[str, Any], of: Query | None = None
) -> int:
    """Every batch gives what the reference says of the query, or of one that it stands for; the number of results."""
    found = []
    for rows in batches:
        found.append(run.step(rows, kinds))
        run.restart()
    expected = answer(of or run.query, run.history)
    seen: set[tuple[Any, ...]] = set()
    for number, given in enumerate(found):
        wanted = expected.get(number, Counter())
        if run.query.distinct:
            wanted = Counter(set(wanted) - seen)
            seen |= set(wanted)
        assert given == wanted, (run.query, number)
    return sum(sum(given.values()) for given in found)


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct"])
def test_random_admitted_queries_answer_as_the_full_history_does(kind: str) -> None:
    draw = random.Random(f"merge {kind}")
    tried = results = merged = 0
    while tried < size(25, 1500):
        query = built(plain_query(draw, kind == "distinct"))
        verdict = check_query(query)
        if verdict.memory.bounded is not True or verdict.memory.never or len(query.all_sources) < 2:
            continue
        run = Run(query, verdict)
        assert unkept_bounds(run.plan) == ()
        tried += 1
        assert all(source.merge is not None for source in run.plan.sources)
        batches = []
        for _ in range(draw.randint(2, 5)):
            sizes = {s.stream.name: draw.choice((0, 1, 3, 5)) for s in query.all_sources}
            batches.append(
                {
                    s.stream.name: [
                        {c.name: draw.choice((None, *range(1, 13))) for c in s.stream.columns}
                        for _ in range(sizes[s.stream.name])
                    ]
                    for s in query.all_sources
                }
            )
        results += check_against_reference(run, batches, {})
        merged += sum(len(rows) for rows in run.history.values()) > sum(
            run.cell.synopses[a].live for a in run.plan.aliases
        )
    assert results > (0 if kind == "distinct" else tried)
    assert merged > tried // 2


@pytest.mark.measure
@pytest.mark.parametrize("distinct", [True, False])
def test_so_do_those_that_join_a_stream_with_itself(distinct: bool) -> None:
    draw = random.Random(f"itself {distinct}")
    tried = results = 0
    while tried < size(15, 1000):
        plain = with_itself(draw)
        columns = [column.split(".")[1] for column in next(iter(plain.streams.values()))]
        own = stream("s", ", ".join(f"{name} BIGINT" for name in columns))
        conditions = [where(f"{left} {op} {right}") for left, op, right in plain.conditions]
        query = build_query([source(own, a) for a in plain.streams], *conditions, select=plain.shown, distinct=distinct)
        verdict = check_query(query)
        if verdict.memory.bounded is not True or verdict.memory.never:
            continue
        tried += 1
        assert unkept_bounds(make_plan(query, verdict)) == ()
        batches = [
            {
                "s": [
                    {name: draw.choice((None, *range(2, 9))) for name in columns} for _ in range(draw.choice((0, 2, 4)))
                ]
            }
            for _ in range(draw.randint(2, 4))
        ]
        results += check_against_reference(Run(without_covered(query, verdict), verdict), batches, {}, query)
    assert results


@pytest.mark.measure
def test_so_do_those_that_join_it_under_several_names_beside_another() -> None:
    draw = random.Random("beside itself")
    tried = results = left_out = 0
    while tried < size(10, 1000):
        query = beside_itself(draw)
        verdict = check_query(query)
        if verdict.memory.bounded is not True or verdict.memory.never:
            continue
        tried += 1
        plan = make_plan(query, verdict)
        assert unkept_bounds(plan) == ()
        left_out += len(plan.sources) < len(query.all_sources)
        columns = {s.stream.name: [c.name for c in s.stream.columns] for s in query.all_sources}
        batches = [
            {
                stream: [
                    {name: draw.choice((None, *range(3, 10))) for name in names} for _ in range(draw.choice((0, 2, 4)))
                ]
                for stream, names in columns.items()
            }
            for _ in range(draw.randint(2, 4))
        ]
        results += check_against_reference(Run(without_covered(query, verdict), verdict), batches, {}, query)
    assert results
    assert left_out


DAY = dt.date(2024, 3, 1)
NOON = dt.datetime(2024, 3, 1, 12)
TYPED = [
    ("STRING", pa.string(), "'k'", ["a", "c", "k", "m", "zz", None]),
    ("DATE", pa.date32(), "DATE '2024-03-03'", [None, *(DAY + dt.timedelta(days=n) for n in range(5))]),
    (
        "TIMESTAMP_NTZ",
        pa.timestamp("us"),
        "TIMESTAMP_NTZ '2024-03-01 12:00:02'",
        [None, *(NOON + dt.timedelta(seconds=n) for n in range(5))],
    ),
    (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        "TIMESTAMP '2024-03-01 12:00:02'",
        [None, *(NOON + dt.timedelta(seconds=n) for n in range(5))],
    ),
    ("DECIMAL(9,2)", pa.decimal128(9, 2), "1.50", [None, *(Decimal(n) / 4 for n in range(4, 10, 2))]),
    (
        "DECIMAL(30,2)",
        pa.decimal128(30, 2),
        "1.50",
        [None, *(Decimal(n) / 4 for n in range(4, 10, 2)), Decimal(10) ** 20],
    ),
    ("SMALLINT", pa.int16(), "3", [None, -(2**15), 1, 2, 3, 4, 2**15 - 1]),
    ("BIGINT", pa.int64(), "3", [None, -(2**63), 1, 2, 3, 4, 2**63 - 1]),
]


@pytest.mark.parametrize(
    ("kind", "arrow", "values"),
    [
        ("BINARY", pa.binary(), [None, b"", b"\x01", b"\xff", b"\x01\x02"]),
        ("TIME", pa.time64("us"), [None, *(dt.time(12, 0, n) for n in range(4))]),
        ("DOUBLE", pa.float64(), [None, -1.5, 0.0, 2.5, float("inf")]),
    ],
)
def test_types_without_constants_keep_their_extremes(kind: str, arrow: Any, values: list[Any]) -> None:
    (query,) = penstock.parse(
        f"CREATE STREAM s (g INT, x {kind}); CREATE STREAM t (y {kind});"
        "SELECT DISTINCT s.g FROM s, t WHERE s.g >= 1 AND s.g <= 2 AND s.x < t.y;"
    ).queries
    verdict = check_query(query)
    draw = random.Random(kind)
    results = 0
    for _ in range(4):
        run = Run(query, verdict)
        assert unkept_bounds(run.plan) == ()
        batches = [
            {
                "s": [{"g": draw.choice((1, 2, 3)), "x": draw.choice(values)} for _ in range(2)],
                "t": [{"y": draw.choice(values)} for _ in range(2)],
            }
            for _ in range(4)
        ]
        results += check_against_reference(run, batches, {"g": pa.int32(), "x": arrow, "y": arrow})
    assert results


@pytest.mark.parametrize(("kind", "arrow", "constant", "values"), TYPED, ids=[kind for kind, *_ in TYPED])
@pytest.mark.parametrize(
    "condition",
    [
        "s.x < t.y",
        "s.x <= t.y AND s.w <= t.y",
        "s.x > t.y AND t.y >= {}",
        "s.x = t.y AND s.x = {}",
        "s.x < {} AND t.y > {}",
    ],
)
def test_every_type_keeps_its_extremes_and_its_parts(
    kind: str, arrow: Any, constant: str, values: list[Any], condition: str
) -> None:
    script = f"CREATE STREAM s (g INT, x {kind}, w {kind}); CREATE STREAM t (y {kind}, g INT);"
    where = condition.format(constant, constant)
    (query,) = penstock.parse(
        f"{script} SELECT DISTINCT s.g, t.g AS h FROM s, t WHERE s.g >= 1 AND s.g <= 2 AND t.g = 3 AND {where};"
    ).queries
    verdict = check_query(query)
    assert verdict.memory.bounded is True
    run = Run(query, verdict)
    assert all(source.merge is not None for source in run.plan.sources)
    draw = random.Random(f"{kind} {condition}")
    results = 0
    for _ in range(4):
        run = Run(query, verdict)
        batches = [
            {
                "s": [
                    {"g": draw.choice((1, 2, 3)), "x": draw.choice(values), "w": draw.choice(values)} for _ in range(3)
                ],
                "t": [{"y": draw.choice(values), "g": draw.choice((3, 4))} for _ in range(3)],
            }
            for _ in range(4)
        ]
        results += check_against_reference(run, batches, {"g": pa.int32(), "x": arrow, "w": arrow, "y": arrow})
    assert results


def test_table_i_runs_in_constant_state_and_says_how() -> None:
    for select, kept in [
        (f"SELECT {Q3}", "kept for each choice of a (9 values): one row, with a count"),
        (f"SELECT DISTINCT {Q3}", "kept for each choice of a (9 values): one row"),
        (
            f"SELECT DISTINCT {Q4}",
            "kept for each choice of a (1 value), b (1 range): the row with the least b, else the first row",
        ),
    ]:
        plan = plan_of(f"{PAPER} {select};")
        assert plan.strategy == "synopsis"
        assert unkept_bounds(plan) == ()
        merge = plan.sources[0].merge
        assert merge is not None
        assert told(merge.keeps) == kept


def test_example_7_4_keeps_one_row_of_a_bucket() -> None:
    script = (
        "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, d BIGINT);"
        "CREATE STREAM t (a BIGINT, b BIGINT, c BIGINT, d BIGINT);"
        "SELECT DISTINCT s.a FROM s, t WHERE s.b > t.b AND s.c > t.b AND s.d > t.b AND s.a = 10 AND t.a = s.a;"
    )
    driver = Driver(script, "a b c d")
    # The bucket of the example: b = 10, c and d below; the rows reach as far as the lesser of c and d does.
    for c, d in [(3, 9), (7, 6), (8, 5)]:
        result = driver.step(s=[(10, 10, c, d)])
    assert result.metrics.state_rows["s"] == 1
    assert rows_of(driver.step(t=[(10, 6, 0, 0)])) == []
    assert rows_of(driver.step(t=[(10, 5, 0, 0)])) == [(10,)]


def test_a_witness_makes_the_state_grow_with_it() -> None:
    script = f"{PAPER} SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND a = 10;"
    (query,) = penstock.parse(script).queries
    verdict = check_query(query)
    assert verdict.memory.bounded is False
    assert verdict.witness is not None
    for count in (50, 100):
        rows = [dict(values) for name, values in verdict.witness.first(count) if name == "s"]
        run = Run(query, verdict)
        run.bounds = {}
        run.step({"s": [{c: row.get(c) for c in "abc"} for row in rows], "t": []}, {})
        assert run.cell.synopses["s"].live >= count // 2


@pytest.mark.measure
def test_so_does_that_of_a_stream_joined_with_itself() -> None:
    draw = random.Random("grow itself")
    tried = 0
    while tried < size(5, 300):
        query = beside_itself(draw)
        verdict = check_query(query)
        if verdict.memory.bounded is not False:
            continue
        tried += 1
        assert verdict.witness is not None
        columns = {s.stream.name: [c.name for c in s.stream.columns] for s in query.all_sources}
        kept = []
        for count in (20, 40):
            rows: dict[str, list[dict[str, Any]]] = {name: [] for name in columns}
            for name, values in verdict.witness.first(count):
                rows[name].append({column: dict(values).get(column) for column in columns[name]})
            run = Run(query, verdict)
            run.bounds = {}
            run.step(rows, {})
            kept.append(max(run.cell.synopses[alias].live for alias in run.plan.aliases))
        assert kept[1] >= 1.7 * kept[0], query


COVERED = [
    "x.k, t.k AS tk FROM s AS x, s AS y, t WHERE x.k = 10 AND x.k = y.k AND x.n = y.n AND t.k = 3",
    "t.k FROM s AS x, s AS y, t WHERE x.k >= 1 AND x.k <= 3 AND y.n <= x.n AND y.k = x.k AND t.k = x.k",
    "x.k FROM s AS x, s AS y, s AS z, t WHERE x.k = y.k AND y.k = z.k AND x.k > 7 AND x.k < 10 AND t.k < 5 AND t.k > 2",
]


@pytest.mark.parametrize("select", COVERED)
def test_example_8_1_a_source_that_another_covers_is_left_out(select: str) -> None:
    """The engine runs the folded query; the reference joins the stream with itself, as it is written."""
    (query,) = penstock.parse(
        f"CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT); SELECT DISTINCT {select};"
    ).queries
    verdict = check_query(query)
    plan = make_plan(query, verdict)
    assert len(plan.sources) == 2 < len(query.all_sources)
    assert unkept_bounds(plan) == ()
    folded = without_covered(query, verdict)
    draw = random.Random(select)
    results = 0
    for _ in range(12):
        batches = [
            {
                "s": [{"k": draw.choice((None, *range(1, 11))), "n": draw.choice((None, 1, 2))} for _ in range(4)],
                "t": [{"k": draw.choice((None, *range(1, 11)))} for _ in range(3)],
            }
            for _ in range(4)
        ]
        run = Run(folded, verdict)
        assert run.plan.sources == plan.sources
        results += check_against_reference(run, batches, {})
        whole, without = (answer(one, run.history) for one in (query, folded))
        assert {row for rows in whole.values() for row in rows} == {row for rows in without.values() for row in rows}
    assert results


@pytest.mark.parametrize(
    ("kind", "arrow", "members", "values"),
    [
        ("BIGINT", pa.int64(), "3, 7", [*range(2, 9)]),
        ("STRING", pa.string(), "'b', 'd'", [*"abcde"]),
        ("DECIMAL(30,1)", pa.decimal128(30, 1), "0.5, 2.5", [Decimal(n) / 2 for n in range(7)]),
    ],
)
def test_values_that_in_leaves_out_have_no_bucket(kind: str, arrow: Any, members: str, values: list[Any]) -> None:
    """IN is said of one stream; a row of the other with a value between the members meets nothing, and is not kept."""
    (query,) = penstock.parse(
        f"CREATE STREAM s (a {kind}, CHECK (a IN ({members}))); CREATE STREAM t (c {kind});"
        "SELECT s.a FROM s, t WHERE s.a = t.c;"
    ).queries
    verdict = check_query(query)
    run = Run(query, verdict)
    assert run.bounds == {"s": 2, "t": 2}
    ends = [values[1], values[3]] if kind == "STRING" else [values[1], values[5]]
    batches = [{"s": [{"a": value} for value in ends], "t": [{"c": value} for value in values]} for _ in range(2)]
    assert check_against_reference(run, batches, {"a": arrow, "c": arrow}) == 8


def test_nor_do_values_that_not_in_leaves_out() -> None:
    (query,) = penstock.parse(
        "CREATE STREAM s (a BIGINT); CREATE STREAM t (c BIGINT);"
        "SELECT s.a FROM s, t WHERE s.a = t.c AND s.a > 2.5 AND NOT (t.c >= 8) AND t.c NOT IN (4, 6);"
    ).queries
    verdict = check_query(query)
    run = Run(query, verdict)
    assert run.bounds == {"s": 3, "t": 3}
    kept = [3, 5, 7]
    rows = {"s": [{"a": a} for a in range(1, 10)], "t": [{"c": c} for c in (*kept, 8, 9)]}
    assert check_against_reference(run, [rows], {}) == 3


def test_a_plan_that_merges_survives_json() -> None:
    plan = plan_of(f"{PAPER} SELECT DISTINCT {Q6};")
    assert Plan.from_json(plan.to_json()) == plan


TWO = "CREATE STREAM s (q BIGINT, n BIGINT, ARRIVES BY q); CREATE STREAM t (q BIGINT, n BIGINT, ARRIVES BY q);"


@pytest.mark.parametrize("joined", ["s, t [ROWS 2]", "s, s [ROWS 2] AS t", "t [ROWS 1], s"])
@pytest.mark.parametrize("seed", range(size(5, 200)))
def test_rows_that_arrive_one_after_the_other_meet_other_rows_of_a_window_though_they_are_merged(
    joined: str, seed: int
) -> None:
    """Counted by group, as the join itself counts: a merged row must not meet what left before some of it came."""
    chance = random.Random(seed)
    plain = penstock.testing.Run(f"{TWO} SELECT s.n AS s_n, t.n AS t_n FROM {joined};")
    counted = penstock.testing.Run(f"{TWO} SELECT t.n AS t_n, count(*) AS c FROM {joined} GROUP BY t.n;")
    assert counted.plan.by_alias["s"].merge is not None
    place = 0
    due: Counter[int] = Counter()
    found: dict[int, int] = {}
    for _ in range(4):
        rows: dict[str, list[dict[str, int]]] = {"s": [], "t": []}
        for _ in range(chance.randint(0, 12)):
            place += chance.randint(0, 2)
            rows[chance.choice("st")].append({"q": place, "n": chance.randint(0, 2)})
        given = {name: pa.Table.from_pylist(some) for name, some in rows.items() if some and name in plain.plan.streams}
        due.update(row["t_n"] for row in plain.step(given).rows.to_pylist())
        step = counted.step(given)
        found |= {row["t_n"]: row["c"] for row in step.rows.to_pylist()}
        assert found == due
        assert step.metrics["state_rows"]["s"] <= 1
