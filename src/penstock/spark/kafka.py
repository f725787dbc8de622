"""Kafka: records as rows of a stream, and rows of an answer as records, by Spark's own connector.

A plain column of a stream USING kafka is a field of the record's value (`record_values.py`); those named `_key`,
`_headers`, `_topic`, `_partition`, `_offset` and `_timestamp` are of the record itself. The partitions are the parts of
the stream, unless PARTS BY says otherwise: within a partition records come by offset, between partitions in no order.

Which partitions there are is asked of the brokers when a query starts, so that the clock of the stream waits for those
that have no record yet; one that is added while it runs is known by its first record, or at the next start.

All options are Spark's and Kafka's own, but for those named here, which Spark is not told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError, UsageError
from penstock.model.names import fold, nearest, quoted
from penstock.model.stream import OF_RECORD, SOURCE_PARTS, Sink, Storage, Stream
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.malformed import ORIGIN, record_column
from penstock.spark.option_values import option_values
from penstock.spark.pack import PLACE
from penstock.spark.record_values import VALUE, partly_read, read_values, written_values

_KEY = "key.columns"
_CLIENT = "kafka."
_SECONDS = 30
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers say that know of no ids."""
FETCHED = {"kafka.max.poll.records": "2000", "kafka.fetch.max.wait.ms": "10"}
"""How consumers fetch, where a stream does not say.

After every poll Spark asks the brokers which records there are, twice; Kafka's own is 500 records a poll. More than
these save little, and all records of a poll lie on the heap, of each partition: of those that compress well a fetch is
no limit to that. And a consumer that has given the last record has asked for the next already: the broker lets it wait
for half a second, and what Spark asks after it waits behind. Spark polls only for records that are there.
"""


def reading_kafka(storage: Storage, *, with_headers: bool) -> dict[str, str]:
    """The options that the connector is told of a stream."""
    given = _given(storage)
    fetched = {name: value for name, value in FETCHED.items() if name not in given}
    told = {name: value for name, value in option_values(storage) if not _is_ours(name)}
    return {**fetched, **told, **({"includeHeaders": "true"} if with_headers else {})}


def _is_ours(name: str) -> bool:
    return name.lower() == _KEY or name.lower().startswith(VALUE)


def _given(storage: Storage) -> dict[str, str]:
    return {name.lower(): value for name, value in option_values(storage)}


def has_headers(stream: Stream) -> bool:
    """Whether a stream declares the headers of its records."""
    return any(fold(column.name) == "_headers" for column in stream.carried)


def rows_of_records(records: DataFrame, stream: Stream) -> DataFrame:
    """The declared columns of records, and beside them the part and the place of each."""
    assert stream.storage is not None
    plain = [c for c in stream.carried if c.derived is None]
    own = [c for c in plain if fold(c.name) in OF_RECORD]
    fields = [c for c in plain if fold(c.name) not in OF_RECORD]
    read = read_values(records, stream, fields)
    kept = [F.col(OF_RECORD[fold(c.name)]).alias(c.name) for c in own]
    # Of all rows of a partition the same: they come by offset, task after task.
    place = F.concat(F.lit("0/0/"), _part(several=True))
    origin = F.concat(_part(several=True), F.lit(" at offset "), F.col("offset"))
    several = has_several_topics(stream.storage)
    beside = [_part(several=several).alias(SOURCE_PARTS), place.alias(PLACE), origin.alias(ORIGIN)]
    record = record_column(stream)
    given = records.select(read.alias("value"), partly_read(stream).alias(_PARTLY), *kept, *beside)
    values = [F.col(f"value.{quoted(c.name)}") for c in fields if c.name != record]
    malformed = F.coalesce(F.col(_PARTLY), F.col(f"value.{quoted(record)}")).alias(record)
    return given.select(*values, malformed, *(F.col(quoted(c.name)) for c in own), *_BESIDE)


_PARTLY = "__ps_partly"
_BESIDE = (SOURCE_PARTS, PLACE, ORIGIN)


def _part(*, several: bool) -> Column:
    """What a partition is called: by its number, where there is one topic."""
    number = F.col("partition").cast("string")
    return F.concat(F.col("topic"), F.lit("-"), number) if several else number


def has_several_topics(storage: Storage) -> bool:
    """Whether a part is called by its topic too."""
    return only_topic(storage) is None


def only_topic(storage: Storage) -> str | None:
    """The topic that is read; None where there may be several."""
    given = _given(storage)
    if "subscribepattern" in given:
        return None
    named = given["subscribe"].split(",") if "subscribe" in given else list(_assigned(given.get("assign", "{}")))
    return named[0].strip() if len(named) == 1 else None


def _assigned(text: str) -> dict[str, list[int]]:
    """The partitions of each topic that the option `assign` names."""
    try:
        return {str(topic): sorted(map(int, numbers)) for topic, numbers in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise UsageError(
            "assign is no JSON object of topics and their partitions",
            detail=f"it is {text}",
            hint='write it as Spark reads it: {"orders": [0, 1]}',
        ) from None


def records_of_rows(rows: DataFrame, sink: Sink) -> DataFrame:
    """The rows of an answer as records: all columns as one value, and the key that the sink names."""
    value = written_values(rows, sink.storage, f"sink {sink.name}")
    asked = [name.strip() for name in _given(sink.storage).get(_KEY, "").split(",") if name.strip()]
    known = {fold(name): name for name in rows.columns}
    for name in asked:
        if fold(name) not in known:
            raise UsageError(
                f"sink {sink.name}: {_KEY} names {name}, which is no column of its rows",
                detail=f"there are: {', '.join(rows.columns)}",
            )
    columns = [F.col(quoted(known[fold(name)])) for name in asked]
    if not columns:
        return rows.select(value.alias("value"))
    key = columns[0].cast("string") if len(columns) == 1 else F.to_json(F.struct(*columns))
    return rows.select(key.alias("key"), value.alias("value"))


def writing_kafka(storage: Storage) -> dict[str, str]:
    """The options that the connector is told of a sink."""
    return {name: value for name, value in option_values(storage) if not _is_ours(name)}


def partitions_of(spark: SparkSession, stream: Stream) -> tuple[str, ...]:
    """The parts that the brokers name, with records or without."""
    assert stream.storage is not None
    given = _given(stream.storage)
    if "assign" in given:
        return _names(stream.storage, _assigned(given["assign"]))
    told = _described(spark, stream)
    return _names(stream.storage, {name: [p.partition() for p in told[name].partitions()] for name in told})


def topics_of(spark: SparkSession, stream: Stream) -> dict[str, str]:
    """The topics that it reads now, each with its id; none of brokers that give no ids."""
    told = _described(spark, stream)
    ids = {name: str(told[name].topicId().toString()) for name in told}
    return {name: ids[name] for name in sorted(ids) if ids[name] != _NO_ID}


def passes_over_losses(stream: Stream) -> bool:
    """Whether it says that records which are gone before they are read are no reason to stop."""
    return stream.storage is not None and _given(stream.storage).get("failondataloss", "").lower() == "false"


def misspelt_columns(stream: Stream) -> dict[str, str]:
    """Columns that are read from the value, where no record has them, and the columns of a record that were meant."""
    fields = [c.name for c in stream.carried if c.derived is None and fold(c.name) not in OF_RECORD]
    close = {name: nearest(name, OF_RECORD) for name in fields if name.startswith("_")}
    return {name: meant for name, meant in close.items() if meant is not None}


def _names(storage: Storage, found: Mapping[str, Iterable[int]]) -> tuple[str, ...]:
    several = has_several_topics(storage)
    return tuple(f"{topic}-{n}" if several else str(n) for topic in sorted(found) for n in sorted(found[topic]))


def _described(spark: SparkSession, stream: Stream) -> Any:
    """What the brokers tell of the topics of a stream, by name; raises DataError if they do not."""
    assert stream.storage is not None
    try:
        found = _asked(spark, stream.storage, _given(stream.storage))
    except SPARK_ERRORS as error:
        raise DataError(
            f"stream {stream.name}: the brokers do not tell the partitions of its topics",
            detail=what_it_says(error),
            hint="are kafka.bootstrap.servers and subscribe right, and is the topic there?",
        ) from error
    if not found:
        raise DataError(f"stream {stream.name}: no topic is there that it subscribes to", hint="create it first")
    return found


def _asked(spark: SparkSession, storage: Storage, given: Mapping[str, str]) -> Any:
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    for name, value in option_values(storage):
        if name.lower().startswith(_CLIENT):
            settings.put(name[len(_CLIENT) :], value)
    settings.put("default.api.timeout.ms", str(_SECONDS * 1000))
    settings.put("request.timeout.ms", str(_SECONDS * 1000 // 2))
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    try:
        if "subscribepattern" in given:
            pattern = re.compile(given["subscribepattern"])
            named = [name for name in client.listTopics().names().get() if pattern.fullmatch(name)]
        elif "assign" in given:
            named = list(_assigned(given["assign"]))
        else:
            named = [name.strip() for name in given.get("subscribe", "").split(",") if name.strip()]
        topics = jvm.java.util.ArrayList()
        for name in named:
            topics.add(name)
        return client.describeTopics(topics).allTopicNames().get()
    finally:
        client.close()
