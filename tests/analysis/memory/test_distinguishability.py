"""Whether rows to come tell every two sets of some rows apart: run, not reasoned."""

from __future__ import annotations

import pytest

from penstock.analysis.memory.constant_memory import growing_copies
from penstock.analysis.memory.distinguishability import copies_to_try, tells_apart
from penstock.analysis.memory.memory_reading import MemoryReading
from tests.analysis.memory.queries import query


@pytest.mark.parametrize(
    "select", ["SELECT x.b FROM s AS x, s AS y WHERE x.a = y.a", "SELECT s.b FROM s, r WHERE s.a = r.a"]
)
def test_rows_that_must_be_remembered_are_told_apart_by_rows_to_come(select: str) -> None:
    asked = query(select)
    copies = growing_copies(asked, 3)
    assert copies is not None
    assert tells_apart(MemoryReading(asked), copies)


def test_two_sizes_are_tried_the_smaller_first() -> None:
    small, large = copies_to_try(query("SELECT x.b FROM s AS x, s AS y WHERE x.a = y.a"))
    assert 1 < small < large
