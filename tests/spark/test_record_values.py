"""Avro in Kafka's records: what is read is what was written, to the last byte, and anything else is malformed.

The package comes from the Maven registry; where Maven is missing these tests say so and are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.avro.functions import from_avro, to_avro

import penstock
from penstock.errors import DataError, UsageError
from penstock.model.stream import Stream
from penstock.spark.kafka import partitions_of, rows_of_records
from penstock.spark.malformed import ORIGIN, record_column
from penstock.spark.record_values import read_values, written_values
from tests.kafka.broker import Broker
from tests.kafka.client import Client
from tests.maven import lacking
from tests.spark.conftest import Bench

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))

SCHEMA = {
    "type": "record",
    "name": "order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": ["null", "string"], "default": None},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "amounts", "type": {"type": "array", "items": "int"}},
    ],
}
COLUMNS = "id BIGINT, item STRING, ts TIMESTAMP"


def stream(options: str, columns: str = COLUMNS) -> Stream:
    text = f"CREATE STREAM orders ({columns}) USING kafka OPTIONS (subscribe 'orders', {options});"
    return penstock.parse(f"{text} SELECT id FROM orders;").streams[0]


def avro(schema: Any = SCHEMA, more: str = "") -> str:
    return f"'value.format' 'avro', 'value.schema' '{json.dumps(schema)}'{more}"


def plain(of: Stream) -> list[Any]:
    return [column for column in of.carried if column.derived is None]


@pytest.mark.parametrize("given", ["{nonsense", "[1]", '{"orders": 0}', '{"orders": ["first"]}'])
def test_an_assign_that_names_no_partitions_is_told(given: str) -> None:
    text = f"CREATE STREAM orders ({COLUMNS}) USING kafka OPTIONS (assign '{given}'); SELECT id FROM orders;"
    of = penstock.parse(text).streams[0]
    with pytest.raises(UsageError, match="assign is no JSON object of topics and their partitions"):
        partitions_of(None, of)  # type: ignore[arg-type] # nobody is asked


def test_values_of_a_sink_are_written_as_its_options_say(spark: SparkSession) -> None:
    text = "CREATE SINK out USING kafka OPTIONS (topic 't', 'value.timestampFormat' 'yyyy/MM/dd HH:mm'{more});"
    rows = spark.sql("SELECT 1 AS id, TIMESTAMP '2026-01-02 03:04:05Z' AS ts, CAST(NULL AS INT) AS n")
    for more, says in (("", ',"n":null'), (", 'value.ignoreNullFields' 'true'", "")):
        script = penstock.parse("CREATE STREAM s (id INT); " + text.replace("{more}", more) + " SELECT id FROM s;")
        (found,) = rows.select(written_values(rows, script.sinks[0].storage, "sink out")).collect()
        assert found[0] == '{"id":1,"ts":"2026/01/02 03:04"' + says + "}"


@pytest.mark.parametrize("policy", ["QUARANTINE", "FAIL", "NULL"])
def test_a_value_that_is_blank_is_malformed_and_one_that_is_not_there_is_none(spark: SparkSession, policy: str) -> None:
    """Spark's reader makes a row of NULLs of both, and says nothing."""
    of = stream("'value.format' 'json'", f"{COLUMNS}, ON MALFORMED {policy}")
    values = ['{"id": 1}', "{}", "", " \n\t", "null", "[1]", "{", None]
    fields = "value STRING, key STRING, topic STRING, partition INT, offset BIGINT"
    records = spark.createDataFrame([(value, None, "orders", 0, n) for n, value in enumerate(values)], fields)
    records = records.withColumn("value", F.col("value").cast("binary"))
    found = {row[ORIGIN].split()[-1]: row[record_column(of)] for row in rows_of_records(records, of).collect()}
    assert [value for n, value in enumerate(values) if found[str(n)] is not None] == ["", " \n\t", "null", "[1]", "{"]


def test_a_value_of_bytes_that_are_no_utf_8_is_malformed(spark: SparkSession) -> None:
    """Spark's reader puts one character in the place of each such byte: two items that differ would be joined."""
    of = stream("'value.format' 'json'", f"{COLUMNS}, ON MALFORMED QUARANTINE")
    values = [
        b'{"id": 1, "item": "caf\xe9"}',
        b'{"id": 2, "item": "caf\xe8"}',
        '{"id": 3, "item": "café"}'.encode(),
        None,
    ]
    fields = "value BINARY, key STRING, topic STRING, partition INT, offset BIGINT"
    records = spark.createDataFrame([(value, None, "orders", 0, n) for n, value in enumerate(values)], fields)
    rows = rows_of_records(records, of).select("item", F.col(record_column(of)).isNotNull()).collect()
    assert [is_malformed for _, is_malformed in rows] == [True, True, False, False]
    assert rows[2][0] == "café"


@pytest.mark.parametrize("policy", ["QUARANTINE", "FAIL", "NULL"])
def test_what_stands_behind_a_value_makes_it_malformed_under_every_policy(spark: SparkSession, policy: str) -> None:
    """Spark's reader takes the first value, which goes on under NULL; but it is counted."""
    of = stream("'value.format' 'json'", f"id BIGINT, item STRING, ON MALFORMED {policy}")
    values = ['{"id": 9} trailing', '{"id": 9}{"id": 10}', '{"id": 9}}', '{"id": 9, "item": "}{"} ', '{"id": 9}']
    fields = "value STRING, key STRING, topic STRING, partition INT, offset BIGINT"
    records = spark.createDataFrame([(value, None, "orders", 0, n) for n, value in enumerate(values)], fields)
    found = rows_of_records(records.withColumn("value", F.col("value").cast("binary")), of).orderBy(ORIGIN).collect()
    assert [row[record_column(of)] for row in found] == [*values[:3], None, None]
    assert policy != "NULL" or [row["id"] for row in found] == [9] * 5


def random_values(seed: int, count: int) -> list[dict[str, Any]]:
    draw = Random(seed)
    items = [None, "", "a", "bücher", "x" * 200]
    return [
        {
            "id": draw.choice([0, -1, draw.getrandbits(62)]),
            "item": draw.choice(items),
            "millis": draw.randrange(0, 2_000_000_000_000),
            "amounts": [draw.randrange(-100, 100) for _ in range(draw.randrange(4))],
        }
        for _ in range(count)
    ]


def test_values_read_as_written_and_what_is_cut_or_longer_is_malformed(spark: SparkSession) -> None:
    rows = spark.createDataFrame(random_values(7, 120), "id BIGINT, item STRING, millis BIGINT, amounts ARRAY<INT>")
    rows = rows.withColumn("ts", F.timestamp_millis("millis"))
    whole = F.struct("id", "item", "ts", "amounts")
    values = rows.select(*COLUMNS_OF, to_avro(whole, json.dumps(SCHEMA)).alias("value"))
    of = stream(avro())
    kinds = {
        "as written": F.col("value"),
        "a byte more": F.concat("value", F.unhex(F.lit("00"))),
        "a value after it": F.concat("value", "value"),
        "cut": F.expr("substring(value, 1, length(value) - 1)"),
        "empty": F.unhex(F.lit("")),
        "none": F.lit(None).cast("binary"),
    }
    sent = reduce(
        DataFrame.union, (values.withColumn("value", v).withColumn("kind", F.lit(k)) for k, v in kinds.items())
    )
    read = sent.select("kind", F.struct(*COLUMNS_OF).alias("was"), read_values(sent, of, plain(of)).alias("v"), "value")
    rows_read = read.select("kind", "was", "v.*", F.hex("value").alias("hex")).collect()
    assert len(rows_read) == 120 * len(kinds)
    for row in rows_read:
        found = {name: row[name] for name in COLUMNS_OF}
        if row["kind"] == "as written":
            assert (found, row["__ps_malformed"]) == (row["was"].asDict(), None)
        else:
            assert set(found.values()) == {None}, row["kind"]
            assert row["__ps_malformed"] == (None if row["kind"] == "none" else row["hex"]), row["kind"]


COLUMNS_OF = ("id", "item", "ts")


def test_what_the_schema_lacks_or_has_of_another_type_is_told(spark: SparkSession, tmp_path: Path) -> None:
    records = spark.createDataFrame([(bytearray(b""),)], "value BINARY")

    def said(of: Stream) -> str:
        with pytest.raises((DataError, UsageError)) as error:
            read_values(records, of, plain(of))
        return str(error.value)

    assert "declares column colour, which is not in value.schema" in said(stream(avro(), f"{COLUMNS}, colour STRING"))
    assert "declares id INT, and value.schema has it as BIGINT" in said(stream(avro(), "id INT"))
    assert "by the schema that they were written with" in said(stream("'value.format' 'avro'"))
    assert "value.schema is no JSON" in said(stream("'value.format' 'avro', 'value.schema' '{'"))
    assert "value.schema is of no record" in said(stream(avro("long")))
    assert "value.schemaId is a number" in said(stream(avro(more=", 'value.schemaId' 'x'")))
    assert "value.mode is not taken" in said(stream(avro(more=", 'value.mode' 'FAILFAST'")))
    assert "'protobuf' is not read or written" in said(stream("'value.format' 'protobuf'"))
    missing = said(stream(f"'value.format' 'avro', 'value.schemaFile' '{tmp_path}/o.avsc'"))
    assert "cannot read value.schemaFile: No such file or directory" in missing
    (tmp_path / "o.avsc").write_text(json.dumps(SCHEMA))
    of = stream(f"'value.format' 'avro', 'value.schemaFile' '{tmp_path}/o.avsc'")
    read_values(records, of, plain(of))


def test_the_number_that_a_registry_gave_stands_before_a_value_and_another_is_malformed(spark: SparkSession) -> None:
    of = stream(avro(more=", 'value.schemaId' '258'"))
    assert of.storage is not None
    rows = spark.sql("SELECT 5L AS id, 'a' AS item, TIMESTAMP '2026-01-01' AS ts, array(1, 2) AS amounts")
    written = rows.select(written_values(rows, of.storage, "sink s").alias("value"))
    assert bytes(written.collect()[0]["value"])[:5] == b"\x00\x00\x00\x01\x02"
    read = written.select(read_values(written, of, plain(of)).alias("v")).select("v.*").collect()[0]
    assert (read["id"], read["item"], read["__ps_malformed"]) == (5, "a", None)
    other = stream(avro(more=", 'value.schemaId' '3'"))
    read = written.select(read_values(written, other, plain(other)).alias("v")).select("v.*").collect()[0]
    assert read["id"] is None
    assert read["__ps_malformed"].startswith("0000000102")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("kafka"))
    made.start()
    yield made
    made.stop()


@pytest.mark.thorough
def test_avro_comes_and_goes_through_a_broker(bench: Bench, spark: SparkSession, broker: Broker) -> None:
    client = Client(spark, broker.address)
    for topic in ("orders", "copies"):
        client.create(topic, 1)
    rows = spark.createDataFrame(random_values(3, 50), "id BIGINT, item STRING, millis BIGINT, amounts ARRAY<INT>")
    rows = rows.withColumn("ts", F.timestamp_millis("millis"))
    values = rows.select(to_avro(F.struct("id", "item", "ts", "amounts"), json.dumps(SCHEMA)).alias("value"))
    bad = spark.sql("SELECT X'0102' AS value")
    at = {"kafka.bootstrap.servers": broker.address}
    values.union(bad).write.format("kafka").options(**at, topic="orders").save()
    text = f"""
        CREATE STREAM orders ({COLUMNS}, _offset BIGINT, ON MALFORMED QUARANTINE) USING kafka OPTIONS (
          'kafka.bootstrap.servers' '{broker.address}', subscribe 'orders', startingOffsets 'earliest', {avro()});
        CREATE SINK copies USING kafka OPTIONS (
          'kafka.bootstrap.servers' '{broker.address}', topic 'copies', 'value.format' 'avro');
        INSERT INTO copies SELECT id, item, ts FROM orders;
    """
    ran = bench.run(text)
    assert ran.code == 0, ran.err
    assert ran.batches[-1]["malformed"] == {"orders": 1}
    written = {
        "type": "record",
        "name": "topLevelRecord",
        "fields": [
            {"name": "id", "type": ["long", "null"]},
            {"name": "item", "type": ["string", "null"]},
            {"name": "ts", "type": [{"type": "long", "logicalType": "timestamp-micros"}, "null"]},
        ],
    }
    records = spark.read.format("kafka").options(**at, subscribe="copies").load()
    found = records.select(from_avro("value", json.dumps(written)).alias("v")).select("v.*").collect()
    assert sorted(map(repr, found)) == sorted(map(repr, rows.select(*COLUMNS_OF).collect()))
    kept = spark.read.parquet(str(bench.folder / "checkpoint" / "copies" / "quarantine" / "*"))
    assert [(row["source_file"], row["record"]) for row in kept.collect()] == [("orders-0 at offset 50", "0102")]
