"""penstock.testing: what a user's test sees of it, and that it says what the core says, on random queries."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import penstock
from penstock.errors import DataError, UsageError
from penstock.model.schemes import Punctuated
from penstock.model.script import Script
from penstock.plan.runnable import obstacles
from penstock.testing import Run
from tests.measure import size
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer import KINDS
from tests.runtime.workloads import table_of

ORDERS = "CREATE STREAM orders (id BIGINT, item STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts{0});"
PAYMENTS = "CREATE STREAM payments (order_id BIGINT, amount DECIMAL(9,2), ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"
PAID = """
SELECT o.id, p.amount FROM orders AS o LEFT JOIN payments AS p
ON p.order_id = o.id AND p.ts >= o.ts AND p.ts - o.ts <= INTERVAL 1 HOUR;
"""
SCRIPT = ORDERS.format("") + PAYMENTS + PAID


def at(hour: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC)


def orders(*rows: tuple[int, str, int]) -> Any:
    names = ["id", "item", "ts"]
    return pa.Table.from_pylist([dict(zip(names, (i, item, at(hour)), strict=True)) for i, item, hour in rows])


def payments(*rows: tuple[int, str, int]) -> Any:
    return pa.table(
        {
            "order_id": [row[0] for row in rows],
            "amount": pa.array([Decimal(row[1]) for row in rows], pa.decimal128(9, 2)),
            "ts": [at(row[2]) for row in rows],
        }
    )


def test_rows_come_with_the_names_and_types_of_the_query_whatever_came() -> None:
    run = Run(SCRIPT)
    step = run.step({})
    assert step.rows.schema == pa.schema([("id", pa.int64()), ("amount", pa.decimal128(9, 2))])
    step = run.step({"orders": orders((1, "x", 0), (2, "y", 0)), "payments": payments((1, "9.50", 1))})
    assert step.rows.to_pylist() == [{"id": 1, "amount": Decimal("9.50")}]
    assert run.step({"PAYMENTS": payments((7, "1.00", 5))}).rows.to_pylist() == [{"id": 2, "amount": None}]


def test_metrics_are_those_of_the_metrics_file() -> None:
    run = Run(SCRIPT)
    line = run.step({"orders": orders((1, "x", 0), (2, "y", 0))}).metrics
    assert json.loads(json.dumps(line)) == line
    fields = "rows_in rows_out state_rows state_tuples pending_rows promise_rows state_bytes purged evicted recall"
    fields = f"query batch {fields} recall_error violations malformed lost k seconds oldest clock let_go"
    fields = f"{fields} fullest_cell exact inexact_because"
    assert list(line) == fields.split()
    assert (line["query"], line["batch"], line["rows_in"], line["rows_out"]) == ("query_1", 0, {"o": 2, "p": 0}, 0)
    assert line["state_rows"] == {"o": 2, "p": 0}
    assert run.step({}).metrics["batch"] == 1


@pytest.mark.parametrize("cells", [1, 3])
def test_a_restart_changes_nothing_and_the_end_decides_all(cells: int) -> None:
    run = Run(penstock.parse(SCRIPT), cells=cells)
    run.step({"orders": orders((1, "x", 0), (2, "y", 0), (3, "z", 0))})
    run.restart()
    assert run.step({"payments": payments((3, "1.00", 0))}).rows.to_pylist() == [{"id": 3, "amount": Decimal("1.00")}]
    run.restart()
    last = run.end()
    assert sorted(row["id"] for row in last.rows.to_pylist()) == [1, 2]
    assert sum(last.metrics["state_rows"].values()) == 0
    for _ in range(2):
        with pytest.raises(penstock.UsageError, match="have ended"):
            run.step({})
        run.restart()


def test_a_step_that_fails_leaves_the_run_as_it_was() -> None:
    run = Run(ORDERS.format(" ON VIOLATION FAIL") + PAYMENTS + PAID)
    run.step({"orders": orders((1, "x", 5))})
    with pytest.raises(penstock.PenstockError, match="breaks ORDERED BY ts"):
        run.step({"orders": orders((2, "y", 1))})
    assert run.step({"payments": payments((1, "2.00", 5))}).rows.num_rows == 1


def test_groups_are_given_when_their_window_is_over_and_distinct_rows_once() -> None:
    groups = (
        "SELECT window(o.ts, '1 hour').start AS hour, o.item, count(*) AS orders, sum(o.id) AS ids "
        "FROM orders AS o WHERE o.item <> 'test' GROUP BY o.item, window(o.ts, '1 hour');"
    )
    run = Run(ORDERS.format("") + groups, cells=2)
    assert run.step({"orders": orders((1, "a", 0), (2, "a", 0), (3, "test", 0), (4, "b", 0))}).rows.num_rows == 0
    step = run.step({"orders": orders((9, "a", 1))})
    found = sorted(step.rows.to_pylist(), key=lambda row: row["item"])
    assert found == [
        {"hour": at(0), "item": "a", "orders": 2, "ids": 3},
        {"hour": at(0), "item": "b", "orders": 1, "ids": 4},
    ]
    assert step.metrics["state_rows"]["(groups)"] == 1
    assert run.end().rows.to_pylist() == [{"hour": at(1), "item": "a", "orders": 1, "ids": 9}]
    distinct = Run(ORDERS.format("") + "SELECT DISTINCT o.item AS what FROM orders AS o;", cells=3)
    assert sorted(
        distinct.step({"orders": orders((1, "a", 0), (2, "a", 0), (3, "b", 0))}).rows["what"].to_pylist()
    ) == [
        "a",
        "b",
    ]
    assert distinct.step({"orders": orders((4, "a", 1), (5, "c", 1))}).rows.to_pylist() == [{"what": "c"}]


def test_filters_punctuations_and_the_streams_own_where_are_evaluated() -> None:
    run = Run(
        """
        CREATE STREAM a (k BIGINT, n BIGINT, kind STRING) WHERE kind IN ('x', 'y');
        CREATE STREAM b (k BIGINT, n BIGINT, PUNCTUATED ON (k) WHEN n < 0);
        SELECT a.k, a.n FROM a WHERE a.n IS NOT NULL AND a.n BETWEEN 1 AND 9
          AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k);
        """
    )
    rows = [(1, 5, "x"), (2, 5, "z"), (3, 99, "x"), (4, None, "y"), (5, 6, None), (6, 7, "y")]
    table = pa.table(dict(zip(["k", "n", "kind"], map(list, zip(*rows, strict=True)), strict=True)))
    step = run.step({"a": table, "b": pa.table({"k": [6], "n": [0]})})
    assert (step.rows.num_rows, step.metrics["rows_in"]) == (0, {"a": 4, "b": 1})
    assert run.step({"b": pa.table({"k": [1, 6], "n": [-1, -1]})}).rows.to_pylist() == [{"k": 1, "n": 5}]


def test_quarantined_rows_are_handed_over() -> None:
    run = Run(ORDERS.format(" ON VIOLATION QUARANTINE") + "SELECT o.id FROM orders AS o;")
    run.step({"orders": orders((1, "x", 5))})
    step = run.step({"orders": orders((2, "y", 1), (3, "z", 6))})
    assert step.rows.to_pylist() == [{"id": 3}]
    assert [kept.rows.num_rows for kept in step.quarantined] == [1]


STREAM = "CREATE STREAM s (k BIGINT, t TIMESTAMP, d BIGINT AS (crc32(CAST(k AS STRING)))); SELECT {0} FROM s WHERE {1};"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (STREAM.format("sqrt(s.k) AS x", "s.k > 0"), "sqrt"),
        (STREAM.format("s.k", "sqrt(s.k) = 2"), "sqrt(s.k) = 2"),
        ("CREATE STREAM s (k BIGINT); SELECT sqrt(sum(s.k)) AS x FROM s;", "x"),
        ("CREATE STREAM s (k BIGINT); SELECT sqrt(s.k) AS x, count(*) AS n FROM s GROUP BY sqrt(s.k);", "s.k"),
        ("CREATE STREAM s (k BIGINT, PUNCTUATED ON (k) WHEN sqrt(k) = 1); SELECT s.k FROM s;", "sqrt"),
    ],
)
def test_what_only_spark_evaluates_is_refused_when_the_run_is_made(script: str, told: str) -> None:
    with pytest.raises(penstock.NotSupportedYet, match="only Spark evaluates") as raised:
        Run(script)
    assert told in str(raised.value)
    assert raised.value.hint


def test_a_derived_column_is_taken_as_given() -> None:
    run = Run(STREAM.format("s.d", "s.k > 0"))
    with pytest.raises(penstock.NotSupportedYet, match="only Spark evaluates"):
        run.step({"s": pa.table({"k": [1]})})
    assert run.step({"s": pa.table({"k": [1], "d": [2]})}).rows.to_pylist() == [{"d": 2}]


@pytest.mark.parametrize(
    ("tables", "error", "told"),
    [
        ({"order": orders((1, "x", 0))}, penstock.UsageError, "did you mean orders"),
        ({"orders": [(1, "x", 0)]}, penstock.UsageError, "no Arrow table"),
        ({"orders": pa.table({"item": ["x"]})}, penstock.DataError, "no column id"),
        ({"orders": orders((1, "x", 0)).set_column(0, "id", pa.array(["1"]))}, penstock.DataError, "is string"),
        ({"orders": orders((1, "x", 0)).set_column(2, "ts", pa.array([1]))}, penstock.DataError, "tz='UTC'"),
    ],
)
def test_a_wrong_table_is_told(tables: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        Run(SCRIPT).step(tables)


def test_several_queries_must_be_told_apart() -> None:
    with pytest.raises(penstock.UsageError, match="2 queries"):
        Run(SCRIPT + "SELECT o.id FROM orders AS o;")
    assert Run(SCRIPT + "SELECT o.id FROM orders AS o;", query="query_2").step({"orders": orders((1, "x", 0))}).rows


def test_no_spark_is_loaded() -> None:
    code = "import sys, penstock; penstock.testing.Run('CREATE STREAM s (k INT); SELECT s.k FROM s;')"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; assert 'pyspark' not in sys.modules"], check=False, timeout=60
    )
    assert done.returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_random_queries_give_their_answer_by_the_end(kind: str) -> None:
    @settings(max_examples=size(8, 1000), deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]), st.sampled_from([1, 1, 4]), st.booleans())
    def look(workload: OuterWorkload, cells: int, restarts: bool) -> None:
        query = workload.query
        streams = {s.stream.name: s.stream for s in query.all_sources}
        # Which rows are punctuations the workload says, whatever WHEN does.
        assume(not any(isinstance(scheme, Punctuated) for s in streams.values() for scheme in s.schemes))
        assume(not obstacles(query))
        run = Run(Script(tuple(streams.values()), (), (query,)), cells=cells)
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(workload.batches):
            rows = {name: [row.values for row in workload.history[name] if row.batch == number] for name in streams}
            step = run.step({name: table_of(streams[name], given) for name, given in rows.items() if given})
            found += bag(step.rows)
            assert step.metrics["violations"] == {}
            if restarts:
                run.restart()
        last = run.end()
        assert found + bag(last.rows) == Evaluator(query, workload.history).answer()
        assert sum(last.metrics["state_rows"].values()) == 0

    look()


PARTED = """
CREATE STREAM s (p DATE, k BIGINT, ts BIGINT, EVENT TIME ts, PARTS BY p, ORDERED BY ts);
CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
SELECT s.k FROM s, t WHERE s.k = t.k AND s.ts = t.ts;
"""


def test_parts_are_named_by_values_of_their_column() -> None:
    run = Run(PARTED)
    step = run.step({}, parts={"S": [dt.date(2026, 1, 1), None]})
    assert step.metrics["parts"]["s"]["known"] == 2
    with pytest.raises(UsageError, match="stream t has no parts"):
        run.step({}, parts={"t": [1]})
    with pytest.raises(UsageError, match="reads no stream u"):
        run.step({}, parts={"u": [1]})


def test_the_partitions_of_a_topic_are_parts_that_a_table_tells() -> None:
    kafka = "USING kafka OPTIONS ('kafka.bootstrap.servers' 'x:1', subscribe 't')"
    run = Run(PARTED.replace("p DATE, ", "").replace("PARTS BY p, ", "").replace("ts);", f"ts) {kafka};", 1))
    rows = pa.table({"k": [1, 1], "ts": [9, 5], "_partition": [0, 1]})
    step = run.step({"s": rows}, parts={"s": [0, 1, 2]})
    assert step.metrics["violations"] == {}
    assert step.metrics["parts"]["s"]["known"] == 3
    with pytest.raises(DataError, match="no column _partition"):
        run.step({"s": rows.drop_columns(["_partition"])})


def test_a_row_that_breaks_a_promise_in_two_blocks_is_counted_and_kept_out_once() -> None:
    script = """
        CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 1 ON VIOLATION QUARANTINE);
        CREATE VIEW g AS SELECT k, window(ts, 5).start AS ts, count(*) AS n FROM a GROUP BY k, window(ts, 5);
        SELECT g.k, g.n, a.ts FROM g JOIN a ON a.k = g.k AND a.ts - g.ts BETWEEN 0 AND 3;
    """
    run = Run(script)
    step = run.step({"a": pa.table({"k": [1, 1, 1, 1], "ts": [1, 6, 3, 4]})})
    assert step.metrics["violations"] == {"ORDERED BY ts WITHIN 1 ON a": 2}
    assert [kept.rows.column("ts").to_pylist() for kept in step.quarantined] == [[3, 4]]


def test_a_stream_for_which_another_row_of_it_stands_is_run() -> None:
    declared = "CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
    run = penstock.testing.Run(f"{declared} SELECT DISTINCT x.k, x.ts FROM s AS x JOIN s AS y ON x.k = y.k;")
    step = run.step({"s": pa.table({"k": [1, 1, None], "ts": [1, 1, 2]})})
    assert step.rows.to_pylist() == [{"k": 1, "ts": 1}]
