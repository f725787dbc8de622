"""Options of a source or sink that Spark does not know: it passes over them without a word, so they are told.

Which options a format of files has is asked of Spark itself; what its streams of files and its Kafka connector read by
name stands here. An option with a dot is handed on to Hadoop or to a format's own library, and is not judged; nor is
any of a format that is not listed. Of Kafka those that begin with `kafka.` are its client's; all others are the
connector's, or ours: about keys, and about values, which Spark's readers and writers of JSON and Avro take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from penstock.model.names import nearest
from penstock.model.script import Script
from penstock.model.stream import KAFKA, Storage
from penstock.spark.failures import SPARK_ERRORS

_SQL = "org.apache.spark.sql"
_FORMATS = {
    "csv": f"{_SQL}.catalyst.csv.CSVOptions",
    "json": f"{_SQL}.catalyst.json.JSONOptions",
    "parquet": f"{_SQL}.execution.datasources.parquet.ParquetOptions",
    "orc": f"{_SQL}.execution.datasources.orc.OrcOptions",
    "text": f"{_SQL}.execution.datasources.text.TextOptions",
}
_OF_ALL_FILES = f"{_SQL}.execution.datasources.FileIndexOptions"
_STREAMS_OF_FILES = [
    "path",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "latestFirst",
    "maxFileAge",
    "fileNameOnly",
    "cleanSource",
    "sourceArchiveDir",
    "maxCachedFiles",
    "discardCachedInputRatio",
    "mergeSchema",
    "ignoreCorruptFiles",
]
_SINKS_OF_FILES = ["path", "compression", "retention", "partitionBy", "checkpointLocation", "queryName", "mergeSchema"]
_KAFKA_SOURCE = [
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxRecordsPerPartition",
    "minPartitions",
    "groupIdPrefix",
    "includeHeaders",
]
_KAFKA_SINK = ["topic", "includeHeaders", "queryName", "checkpointLocation", "key.columns"]
_OF_CLIENT = "kafka."
_VALUES = {"json": _FORMATS["json"], "avro": f"{_SQL}.avro.AvroOptions"}
_OF_VALUES = {"json": ["value.format"], "avro": ["value.format", "value.schema", "value.schemaFile", "value.schemaId"]}


def unknown_options(spark: SparkSession, script: Script) -> Iterator[str]:
    """A sentence for each option of a script's streams and sinks that Spark passes over."""
    for stream in script.streams:
        if stream.storage is not None:
            yield from _unknown(spark, f"stream {stream.name}", stream.storage, is_sink=False)
    for sink in script.sinks:
        yield from _unknown(spark, f"sink {sink.name}", sink.storage, is_sink=True)


def _unknown(spark: SparkSession, what: str, storage: Storage, *, is_sink: bool) -> Iterator[str]:
    kind = storage.format.lower()
    known = known_options(spark, kind, is_sink=is_sink)
    if kind == KAFKA:
        known = [*known, *_about_values(spark, storage)]
    folded = {name.lower() for name in known}
    for name, _ in storage.options:
        is_judged = not name.lower().startswith(_OF_CLIENT) if kind == KAFKA else "." not in name
        if known and is_judged and name.lower() not in folded:
            close = nearest(name, known)
            hint = f"; did you mean {close}?" if close else ""
            yield f"{what}: {storage.format} knows no option {name}, and Spark passes over it{hint}"


def _about_values(spark: SparkSession, storage: Storage) -> list[str]:
    """The options about the values of records."""
    form = next((value.lower() for name, value in storage.options if name.lower() == "value.format"), "json")
    if form not in _VALUES:
        return _OF_VALUES["avro"]
    try:
        read = [f"value.{name}" for name in _asked(spark, _VALUES[form])]
    except (*SPARK_ERRORS, TypeError):
        read = [name for name, _ in storage.options if name.lower().startswith("value.")]
    return [*_OF_VALUES[form], *read]


def known_options(spark: SparkSession, kind: str, *, is_sink: bool) -> list[str]:
    """The options of a format; none where they are not known."""
    if kind == KAFKA:
        return _KAFKA_SINK if is_sink else _KAFKA_SOURCE
    if kind not in _FORMATS:
        return []
    own = _SINKS_OF_FILES if is_sink else _STREAMS_OF_FILES
    try:
        asked = [name for place in (_FORMATS[kind], _OF_ALL_FILES) for name in _asked(spark, place)]
    except (*SPARK_ERRORS, TypeError):
        return []  # Another version of Spark keeps them elsewhere.
    return list(dict.fromkeys([*own, *asked]))


def _asked(spark: SparkSession, place: str) -> list[str]:
    """The options that an object of Spark's lists."""
    found: Any = spark._jvm
    for name in place.split("."):
        found = getattr(found, name)
    return str(found.getAllOptions().mkString("\n")).splitlines()
