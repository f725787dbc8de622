"""Values of records read in columns: one row a value, by partition, or left to Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock import compile as way
from penstock.errors import DataError
from penstock.model.stream import SOURCE_PARTS
from penstock.spark.cells import KeyedGrid
from penstock.spark.pack import Packer
from penstock.spark.plain_json import NotPlain, PlainColumns
from penstock.spark.plain_records import RecordPacker, columns_of_records, values_read
from penstock.spark.who_reads import JSON

COLUMNS = PlainColumns(("id", "name"), ("BIGINT", "STRING"))
SCRIPT = """
CREATE STREAM a ({columns}) USING kafka OPTIONS (subscribe 'a'{options}) {where};
CREATE STREAM b (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT a.id, {read} FROM a, b WHERE a.id = b.id AND a.ts = b.ts{condition};
"""


def values(*given: bytes | None) -> Any:
    return pa.chunked_array([pa.array(given, pa.binary())])


def test_each_value_is_a_row_and_none_is_a_row_of_nulls() -> None:
    read = values_read(values(b'{"id":1,"name":"a"}', None, b"{}", b'{"name":"b","id":2}'), COLUMNS)
    assert read.to_pydict() == {"id": [1, None, None, 2], "name": ["a", None, None, "b"]}
    sliced = values(b"x", b'{"id":1}', b'{"id":2}').slice(1, 2)
    assert values_read(sliced, COLUMNS).column("id").to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "given",
    [
        [b'{"id":1}\n{"id":2}'],
        [b'{"id":1}{"id":2}'],
        [b'{"id":1}{"id":2}', b'{"id":3'],
        [b'{"name":"x}', b'{y"}', b'{"id":1}{"id":2}'],
        [b'{"id":1}', b""],
        [b'{"id":1}', b" "],
        [b'{"id":"1"}'],
        [b'{"name":"\xff"}'],
    ],
)
def test_what_is_no_value_of_its_own_is_left_to_spark(given: list[bytes]) -> None:
    with pytest.raises(NotPlain):
        values_read(values(*given), COLUMNS)


def plan_of(columns: str, *, read: str = "a.id", **rest: str) -> tuple[Any, Any]:
    filled = {"options": "", "where": "", "condition": "", **rest}
    text = SCRIPT.replace("{columns}", columns).replace("{read}", read)
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", value)
    script = way.parse(text)
    return way.plan(script), script.stream("a")


PLAIN = "id BIGINT, ts TIMESTAMP, _key STRING, EVENT TIME ts, ORDERED BY ts"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"columns": PLAIN}, ("id", "ts")),
        ({"columns": PLAIN, "read": "a._key"}, ("id", "ts")),
        ({"columns": PLAIN, "options": ", 'value.format' 'json'"}, ("id", "ts")),
        ({"columns": PLAIN, "options": ", 'value.format' 'avro'"}, None),
        ({"columns": PLAIN, "options": ", 'value.timestampFormat' 'yyyy'"}, None),
        ({"columns": PLAIN, "where": "WHERE id > 5"}, None),
        ({"columns": PLAIN, "condition": " AND upper(a._key) = 'X'"}, None),
        ({"columns": PLAIN + ", more DECIMAL(9, 2)"}, None),
        ({"columns": PLAIN + ", _corrupt_record STRING"}, None),
        ({"columns": PLAIN + ", n BIGINT AS (id + 1)", "read": "a.n"}, None),
    ],
)
def test_whose_values_are_read_here(given: dict[str, str], expected: tuple[str, ...] | None) -> None:
    plan, stream = plan_of(**given)
    found = columns_of_records(plan, stream, {JSON: "penstock"}.get)
    assert (None if found is None else found.names) == expected
    nothing: dict[str, str] = {}
    assert columns_of_records(plan, stream, nothing.get) is None


@pytest.mark.parametrize(("only", "parts"), [("a", ["0", "1"]), (None, ["a-0", "a-1"])], ids=["one topic", "several"])
def test_partitions_are_packed_one_after_the_other_and_an_odd_value_names_its_own(
    only: str | None, parts: list[str]
) -> None:
    plan, _ = plan_of(PLAIN)
    names = ("id", "ts", SOURCE_PARTS)
    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), (SOURCE_PARTS, pa.string())])
    columns = PlainColumns(names[:2], ("BIGINT", "TIMESTAMP"))
    packer = RecordPacker(Packer(plan, "a", KeyedGrid.over(plan, 1), ordered=True), schema, columns, only)
    given = {"__ps_value": pa.array([b'{"id":%d}' % n for n in range(5)])}
    if only is None:
        given["__ps_topic"] = pa.array(["a"] * 5)
    batch = pa.record_batch({**given, "__ps_partition": pa.array([0, 0, 1, 1, 0], pa.int32())})
    pieces = list(packer._pieces([batch, batch.slice(0, 0)]))
    assert [place[1] for place, _ in pieces] == ["a-0", "a-1", "a-0"]
    assert [table.column("id").to_pylist() for _, table in pieces] == [[0, 1], [2, 3], [4]]
    told = [table.column(SOURCE_PARTS).to_pylist() for _, table in pieces]
    assert told == [[parts[0]] * 2, [parts[1]] * 2, [parts[0]]]
    odd = batch.set_column(0, "__ps_value", pa.array([b"{}", b"{}", b"[]", b"{}", b"{}"]))
    with pytest.raises(DataError, match="stream a: partition a-1 holds JSON that only Spark reads"):
        list(packer._pieces([odd]))


def test_records_of_several_topics_are_parted_by_topic_too() -> None:
    plan, _ = plan_of(PLAIN)
    schema = pa.schema([("id", pa.int64()), (SOURCE_PARTS, pa.string())])
    packer = RecordPacker(
        Packer(plan, "a", KeyedGrid.over(plan, 1), ordered=True), schema, PlainColumns(("id",), ("BIGINT",)), None
    )
    batch = pa.record_batch(
        {
            "__ps_value": pa.array([b'{"id":%d}' % n for n in range(3)]),
            "__ps_topic": pa.array(["a", "b", "b"]),
            "__ps_partition": pa.array([0, 0, 0], pa.int32()),
        }
    )
    pieces = list(packer._pieces([batch]))
    assert [place[1] for place, _ in pieces] == ["a-0", "b-0"]
    assert [table.to_pydict() for _, table in pieces] == [
        {"id": [0], SOURCE_PARTS: ["a-0"]},
        {"id": [1, 2], SOURCE_PARTS: ["b-0", "b-0"]},
    ]
