"""What files say of their columns, beside what is declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark import SparkContext

import penstock
from penstock.compile import plan
from penstock.spark.file_schemas import columns_lacking, schema_of, types_changed
from penstock.spark.told import opening_lines

_AVRO_HEAD = (
    b"Obj\x01\x02\x16avro.schema%s\x00"  # one entry: its name has 11 bytes
    b"0123456789abcdef"
)


def avro(schema: str) -> bytes:
    """A file of Avro without rows."""
    length, number = b"", len(schema) * 2
    while number > 0x7F:
        length += bytes([number & 0x7F | 0x80])
        number >>= 7
    return _AVRO_HEAD % (length + bytes([number]) + schema.encode())


NESTED = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string())])))])


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_columns_and_fields_within_them_that_a_file_lacks(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file"
    table = pa.table({"K": pa.array([1], pa.int64()), "n": pa.array([None], NESTED)})
    match kind:
        case "parquet":
            pq.write_table(table, file)
        case "orc":
            orc.write_table(table, str(file))
        case _:
            inner = '{"type": "record", "name": "c", "fields": [{"name": "c", "type": "string"}]}'
            struct = (
                '{"type": "record", "name": "n", "fields": [{"name": "a", "type": "int"}, '
                f'{{"name": "b", "type": {{"type": "array", "items": ["null", {inner}]}}}}]}}'
            )
            fields = f'[{{"name": "K", "type": "long"}}, {{"name": "n", "type": ["null", {struct}]}}]'
            file.write_bytes(avro(f'{{"type": "record", "name": "top", "fields": {fields}}}'))
    found = schema_of(str(file)).fields
    assert [field.name for field in found] == ["K", "n"]
    assert not list(columns_lacking(table.schema, found))
    other = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("d", pa.string())]))), ("e", pa.int32())])
    wanted = pa.schema([("k", pa.int64()), ("m", pa.int64()), ("n", other)])
    assert list(columns_lacking(wanted, found)) == ["m", "n.b.d", "n.e"]


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.string(), pa.int64(), False),
        (pa.int64(), pa.string(), False),
        (pa.float32(), pa.float64(), True),
        (pa.float64(), pa.float32(), False),
        (pa.int32(), pa.float64(), False),
        (pa.decimal128(6, 2), pa.decimal128(8, 2), True),
        (pa.decimal128(6, 2), pa.decimal128(6, 3), False),
        (pa.timestamp("ns"), pa.timestamp("us", "UTC"), True),
        (pa.date32(), pa.timestamp("us", "UTC"), False),
        (pa.binary(), pa.string(), False),
        (NESTED, NESTED, True),
        (NESTED, pa.struct([("a", pa.int8())]), False),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), True),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int32()), False),
    ],
)
def test_types_whose_values_fit(given: pa.DataType, wanted: pa.DataType, fits: bool) -> None:
    changed = list(types_changed(pa.schema([("n", wanted)]), pa.schema([("N", given)])))
    assert not changed if fits else changed == [("n", given, wanted)]


def test_columns_of_an_old_hive_go_by_their_places(tmp_path: Path) -> None:
    orc.write_table(pa.table({"_col0": [1]}), str(tmp_path / "old"))
    with pytest.raises(ValueError, match="places"):
        schema_of(str(tmp_path / "old"))


def test_a_file_that_ends_too_soon_is_none(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(avro("{}")[:12])
    with pytest.raises((ValueError, KeyError)):
        schema_of(str(tmp_path / "cut"))


@pytest.mark.parametrize(("path", "notes"), [("hdfs://host/s", 1), ("/data/s", 0)])
@pytest.mark.parametrize(("kind", "what"), [("orc", "not asked for their columns"), ("json", "are not searched")])
def test_files_that_are_not_asked_are_told(
    path: str, notes: int, kind: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    script = penstock.parse(f"CREATE STREAM s (k BIGINT) USING {kind} OPTIONS (path '{path}'); SELECT s.k FROM s;")
    said = opening_lines(script, [(script.queries[0], plan(script))], has_checkpoint=True)
    assert len([line for line in said if what in line]) == notes


@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_files_that_only_a_checkpoint_tells_are_told_without_one(has_checkpoint: bool) -> None:
    text = "CREATE STREAM s (k BIGINT) USING json OPTIONS (path '/d/s'); CREATE TABLE t (k BIGINT) USING json "
    script = penstock.parse(f"{text} OPTIONS (path '/d/t'); SELECT s.k FROM s JOIN t ON s.k = t.k;")
    said = opening_lines(script, [(script.queries[0], plan(script))], has_checkpoint=has_checkpoint)
    assert any("nobody looks at files of s" in line for line in said) != has_checkpoint
