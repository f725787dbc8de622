"""The gate: rows pass in the order of ARRIVES BY and once each; what waits survives a restart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.plan import Plan
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.gate import Gate
from penstock.runtime.state.component import State
from tests.runtime.driving import plan_of

SCRIPT = """CREATE STREAM a (k BIGINT, ts BIGINT, ARRIVES BY ts); CREATE STREAM b (k BIGINT, ts BIGINT, ARRIVES BY ts);
SELECT a.k FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k;"""
FREE = SCRIPT.replace(" [ROWS 3]", "").replace("a.k = b.k", "a.k = b.k AND a.ts = b.ts")


def gate_of(plan: Plan) -> Gate:
    return Gate(plan, ArrivalOrder(plan))


def piece(plan: Plan, stream: str, *times: int) -> Chunk:
    column = pa.array(times, pa.int64())
    return Chunk.of(plan, stream, 0, pa.table({"k": column, "ts": column}))


def times(chunks: list[Chunk]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {"a": [], "b": []}
    for chunk in chunks:
        for alias, table in chunk.rows.items():
            found[alias] += table.column("ts").to_pylist()
    return found


def test_rows_wait_for_the_other_stream() -> None:
    plan = plan_of(SCRIPT)
    gate = gate_of(plan)
    assert times(gate.admit([piece(plan, "a", 1, 4, 9)])) == {"a": [], "b": []}
    assert gate.rows == 3
    assert times(gate.admit([piece(plan, "b", 5)])) == {"a": [1, 4], "b": [5]}
    assert gate.rows == 1
    assert gate.nbytes > 0


def test_a_header_passes_with_the_last_row_of_its_chunk() -> None:
    plan = plan_of(SCRIPT)
    gate = gate_of(plan)
    gate.admit([piece(plan, "a", 1, 9)])
    (first, _) = gate.admit([piece(plan, "b", 5)])
    assert (first.header.rows, first.header.start) == (0, 0)
    (last,) = gate.admit([piece(plan, "b", 10)])
    assert (last.header.rows, last.rows["a"].num_rows) == (2, 1)


def test_nothing_waits_where_no_stream_counts_rows() -> None:
    plan = plan_of(FREE)
    assert not plan.rows_windowed


RUNS = st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 3), max_size=4)), max_size=10)


@given(RUNS, st.booleans())
def test_every_row_passes_once_in_order_and_over_restarts(run: list[Any], restarts: bool) -> None:
    plan = plan_of(SCRIPT)
    gate = gate_of(plan)
    state = State(gate)
    store: dict[str, bytes] = {}
    clock = {"a": 0, "b": 0}
    sent: dict[str, list[int]] = {"a": [], "b": []}
    passed: dict[str, list[int]] = {"a": [], "b": []}
    for stream, steps in [*run, ("a", [100]), ("b", [100])]:
        rows = []
        for step in steps:
            clock[stream] += step
            rows.append(clock[stream])
        sent[stream] += rows
        came = times(gate.admit([piece(plan, stream, *rows)]))
        passed = {name: passed[name] + came[name] for name in passed}
        # Nothing has passed that a row of the other stream, still to come, could precede.
        for name, other in (("a", "b"), ("b", "a")):
            assert all(time <= clock[other] for time in came[name])
        changes = state.save()
        for key in changes.delete:
            del store[key]
        store.update(changes.put)
        if restarts:
            gate = gate_of(plan)
            state = State(gate)
            state.load(store)
    for name in passed:
        assert passed[name] == sent[name][: len(passed[name])]
    waiting = sum(len(sent[name]) - len(passed[name]) for name in sent)
    assert gate.rows == waiting
    assert waiting <= len([t for name in sent for t in sent[name] if t > min(clock.values()) - 1])


def test_a_row_that_falls_keeps_its_turn() -> None:
    plan = plan_of(SCRIPT)
    gate = gate_of(plan)
    gate.admit([piece(plan, "a", 5)])
    gate.admit([piece(plan, "a", 2)])
    assert times(gate.admit([piece(plan, "b", 3)])) == {"a": [], "b": [3]}
    assert times(gate.admit([piece(plan, "b", 6)])) == {"a": [5, 2], "b": []}


@pytest.mark.parametrize("stream", ["a", "b"])
def test_no_rows_move_nothing(stream: str) -> None:
    plan = plan_of(SCRIPT)
    gate = gate_of(plan)
    assert gate.admit([piece(plan, stream)]) == []
    assert gate.rows == 0
