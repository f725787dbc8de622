"""What is written is what is read: columns, masks, numbers; what is amiss is said, and nothing is half read."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import DataError
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import (
    COLD,
    EntryReader,
    EntryWriter,
    compressed,
    expanded,
    from_ipc,
    from_json,
    from_tensor,
    read_synopsis,
    to_ipc,
    to_ipc_column,
    to_json,
    to_tensor,
    write_synopsis,
)
from penstock.runtime.state.synopsis import ALL, Synopsis


def synopsis_of(columns: dict[str, pa.Array], rows: int, *, counts: bool = False) -> Synopsis:
    """One stored segment with a mark."""
    marks = {"m": np.arange(rows) % 3 == 0}
    segment = Segment(pa.table(columns), np.arange(rows), np.zeros(rows, np.int64), np.arange(rows) % 2 == 0, marks)
    segment.counts = np.arange(rows) + 1 if counts else None
    synopsis = Synopsis(tuple(columns))
    synopsis.begin(segment)
    synopsis.finish()
    return synopsis


def test_numbers_of_every_kind_are_read_as_they_were() -> None:
    told = {"a": [1, -(2**63), 2**80], "b": {"c": b"\x00\xff", "d": Decimal("1.50"), "e": None, "f": "ü", "g": 1.5}}
    assert from_json(to_json(told)) == told
    assert from_json(to_json([np.int64(3), np.float64(0.5), np.bool_(True)])) == [3, 0.5, True]
    with pytest.raises(TypeError, match="no number that state may hold"):
        to_json({"a": object()})


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.arange(6.0).reshape(2, 3), np.array([2**63 - 1])])
def test_arrays_keep_their_shape_and_can_be_written_to(array: np.ndarray) -> None:
    found = from_tensor(to_tensor(array))
    assert found.shape == array.shape
    assert (found == array).all()
    found += 1


def test_a_table_without_rows_keeps_its_types() -> None:
    table = pa.table({"a": pa.array([], pa.decimal128(5, 2)), "b": pa.array([], pa.list_(pa.string()))})
    assert from_ipc(to_ipc(table)).schema == table.schema


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("columns", [{"k": pa.array(range(20))}, {}], ids=["a column", "no column"])
def test_a_synopsis_is_read_as_it_was(columns: dict[str, pa.Array], counts: bool) -> None:
    synopsis = synopsis_of(columns, 20, counts=counts)
    synopsis.kill(np.array([1, 7]))
    to = EntryWriter(5)
    count = write_synopsis("cell/x", synopsis, to)
    again = Synopsis(tuple(columns))
    source = EntryReader(to.put)
    read_synopsis("cell/x", count, again, source)
    source.require_all_taken()
    ids = synopsis.ids(ALL)
    assert again.ids(ALL).tolist() == ids.tolist()
    assert again.marked("m", ids).tolist() == synopsis.marked("m", ids).tolist()
    assert again.gather(ids, lambda s: s.home).tolist() == synopsis.gather(ids, lambda s: s.home).tolist()
    if columns:
        assert again.arrow("k", ids).to_pylist() == synopsis.arrow("k", ids).to_pylist()
    if counts:
        assert again.counts(ids).tolist() == synopsis.counts(ids).tolist()


def test_only_what_changed_is_written_again() -> None:
    synopsis = synopsis_of({"k": pa.array(range(20))}, 20)
    write_synopsis("x", synopsis, EntryWriter(0))
    quiet = EntryWriter(1)
    write_synopsis("x", synopsis, quiet)
    assert quiet.put == {}
    synopsis.kill(np.array([3]))
    loud = EntryWriter(1)
    write_synopsis("x", synopsis, loud)
    assert list(loud.put) == ["mask/x/000000000000"]


def test_what_is_gone_leaves_the_store() -> None:
    synopsis = synopsis_of({"k": pa.array(range(20))}, 20)
    write_synopsis("x", synopsis, EntryWriter(0))
    synopsis.kill(synopsis.ids(ALL))
    synopsis.finish()
    to = EntryWriter(1)
    assert write_synopsis("x", synopsis, to) == 0
    assert sorted(to.delete) == ["mask/x/000000000000", "segment/x/000000000000"]


def test_what_is_missing_or_too_much_is_named() -> None:
    to = EntryWriter(0)
    count = write_synopsis("x", synopsis_of({"k": pa.array(range(4))}, 4), to)
    with pytest.raises(DataError, match="damaged"):
        read_synopsis("x", count + 1, Synopsis(("k",)), EntryReader(to.put))
    with pytest.raises(DataError, match="damaged"):
        EntryReader(to.put).require_all_taken()
    with pytest.raises(DataError, match="damaged"):
        EntryReader({}).take("numbers")
    EntryReader({COLD + "a": b""}).require_all_taken()


def test_a_compressed_table_is_read_as_any_other() -> None:
    plain = to_ipc(pa.table({"n": pa.array(range(1000), pa.int64()), "s": pa.array(["same"] * 1000)}))
    small = compressed(plain)
    assert len(small) < len(plain) / 4
    assert expanded(small).to_pybytes() == plain
    assert expanded(plain) is plain
    assert compressed(small) is small
    assert expanded(b"") == b""
    assert bytes(expanded(pa.py_buffer(small))) == plain
    assert from_ipc(small).equals(from_ipc(plain))
    assert from_ipc(memoryview(small)).equals(from_ipc(plain))


def test_tables_and_bytes_of_one_column_are_read_one_by_one() -> None:
    long, short = pa.table({"n": pa.array(range(1000)), "s": [f"{n}" for n in range(1000)]}), pa.table({"n": [7, None]})
    column = to_ipc_column([long, short, pa.table({}), None, b"", b"some bytes"])
    column.validate(full=True)
    assert column.null_count == 1
    assert [from_ipc(column[n].as_buffer()) for n in range(3)] == [long, short, pa.table({})]
    assert column[3:].to_pylist() == [None, b"", b"some bytes"]
    assert column[0].as_py() == to_ipc(long)
    assert to_ipc_column([]).to_pylist() == []
