"""From chunks to fresh rows: numbered by arrival over all chunks, without those that can be in no result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import InternalError
from penstock.plan.plan import Plan
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.headers import Header
from penstock.runtime.input.intake import Intake
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis
from tests.runtime.driving import plan_of

SCRIPT = """CREATE STREAM a (k BIGINT, j BIGINT, PRIMARY KEY (k)); CREATE STREAM b (k BIGINT, j BIGINT);
SELECT a.j FROM a, b [ROWS 5] WHERE a.k = b.k AND b.k = b.j;"""


def piece(plan: Plan, stream: str, *rows: tuple[int | None, int | None], passes: list[bool] | None = None) -> Chunk:
    table = pa.table({name: pa.array([row[n] for row in rows], pa.int64()) for n, name in enumerate(("k", "j"))})
    return Chunk.of(plan, stream, 0, table, None if passes is None else {stream: pa.array(passes)})


class Taken:
    """One batch, taken in."""

    def __init__(self, *chunks: Chunk) -> None:
        plan = plan_of(SCRIPT)
        self.intake, self.clock = Intake(plan), Clock(plan)
        self.clock.begin(7)
        self.synopses = {alias: Synopsis(plan.by_alias[alias].kept) for alias in plan.aliases}
        self.dropped, self.chunk_of = self.intake.take(chunks, self.clock, (), self.synopses)

    def arrivals(self, alias: str) -> list[int]:
        synopsis = self.synopses[alias]
        found: list[int] = synopsis.gather(synopsis.ids(ALL), lambda s: s.arrival).tolist()
        return found


def test_rows_are_numbered_over_the_chunks_of_their_stream() -> None:
    plan = plan_of(SCRIPT)
    taken = Taken(piece(plan, "b", (1, 1), (2, 2)), piece(plan, "a", (5, 5)), piece(plan, "b", (3, 3)))
    assert taken.arrivals("b") == [0, 1, 2]
    assert taken.chunk_of["b"].tolist() == [0, 0, 1]
    assert taken.clock.count == {"a": 1, "b": 3}
    assert taken.synopses["b"].gather(taken.synopses["b"].ids(FRESH), lambda s: s.batch).tolist() == [7, 7, 7]


def test_rows_that_a_filter_drops_are_counted_and_leave_their_keys() -> None:
    plan = plan_of(SCRIPT)
    taken = Taken(piece(plan, "a", (1, 1), (2, 2), (None, 3), passes=[False, True, False]))
    assert taken.arrivals("a") == [1]
    keys = taken.dropped["a"]
    assert keys.arrow("k", keys.ids(ALL)).to_pylist() == [1]  # A NULL is no key.


def test_rows_that_can_be_in_no_result_leave_at_once() -> None:
    plan = plan_of(SCRIPT)
    taken = Taken(piece(plan, "b", (1, 1), (1, 2), (None, None), (4, None)), piece(plan, "a", (None, 1), (3, 1)))
    taken.intake.drop_unmatchable(taken.synopses, taken.dropped)
    assert taken.arrivals("b") == [0]
    assert taken.arrivals("a") == [1]


def test_a_null_in_a_primary_key_is_a_violation() -> None:
    plan = plan_of(SCRIPT)
    taken = Taken(piece(plan, "a", (None, 1), (3, 1)))
    (breach,) = taken.intake.broken_by_null(taken.synopses)
    assert breach.alias == "a"
    assert np.asarray(breach.ids).tolist() == [0]


def test_a_stream_without_rows_is_not_known_at_all() -> None:
    plan = plan_of(SCRIPT)
    taken = Taken(piece(plan, "a"))
    assert not taken.synopses["a"].has_fresh
    assert taken.chunk_of == {}


def test_a_stream_that_the_query_does_not_read_is_refused() -> None:
    with pytest.raises(InternalError, match="stream z"):
        Taken(Chunk(Header("z", 0, 1)))
