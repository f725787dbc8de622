"""What rows are said to take, against what Arrow says once they stand in a table: never too little, never too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.columns import row_bytes
from penstock.runtime.state.segment import Segment
from tests.measure import size

KINDS: dict[Any, Any] = {
    pa.int64(): st.integers(-9, 9),
    pa.int8(): st.integers(-9, 9),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.timestamp("us"): st.integers(0, 9),
    pa.decimal128(30, 2): st.integers(-9, 9),
    pa.null(): st.none(),
    pa.string(): st.text(max_size=9),
    pa.large_binary(): st.binary(max_size=9),
    pa.binary(3): st.just(b"abc"),
    pa.list_(pa.string()): st.lists(st.none() | st.text(max_size=5), max_size=4),
    pa.list_(pa.list_(pa.int32())): st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), max_size=3),
    pa.map_(pa.string(), pa.int64()): st.dictionaries(st.text(max_size=4), st.integers(0, 9), max_size=3).map(
        lambda found: list(found.items())
    ),
    pa.struct([("x", pa.int64()), ("y", pa.string())]): st.fixed_dictionaries(
        {"x": st.integers(0, 9), "y": st.none() | st.text(max_size=5)}
    ),
}


@st.composite
def tables(draw: Any) -> tuple[Any, Any]:
    """Two tables of the same columns, as two batches bring them."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))
    found = []
    for _ in range(2):
        rows = draw(st.integers(0, 12))
        columns = [
            pa.array(draw(st.lists(KINDS[k] | st.none(), min_size=rows, max_size=rows)), k) if rows else pa.nulls(0, k)
            for k in kinds
        ]
        found.append(pa.table({f"c{n}": column for n, column in enumerate(columns)}))
    return found[0], found[1]


def segment(table: Any) -> Segment:
    numbers = np.arange(table.num_rows)
    return Segment(table, numbers, numbers.copy(), np.ones(table.num_rows, np.bool_), {})


@settings(max_examples=size(60, 2_000), deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_rows_take_no_more_than_said_once_they_are_merged_and_rewritten(pair: tuple[Any, Any], random: Any) -> None:
    first, second = (segment(table) for table in pair)
    said = row_bytes.table_most([first]) + int(row_bytes.most(pair[1].columns).sum())
    said += row_bytes.overhead(len(pair[1].columns))
    least = sum(int(row_bytes.least(table.columns).sum()) for table in pair)
    together = Segment.merged([first, second])
    assert least <= together.nbytes() <= said
    gone = np.flatnonzero([random.random() < 0.4 for _ in range(len(together))])
    freed = int(row_bytes.least(together.table.take(pa.array(gone)).columns).sum()) if len(gone) else 0
    together.kill(gone)
    rewritten = Segment.merged([together])
    assert rewritten.nbytes() <= said - freed
    assert rewritten.nbytes() <= row_bytes.table_most([rewritten])
