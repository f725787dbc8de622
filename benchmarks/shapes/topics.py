"""The rows of a shape in topics of a real broker, two partitions each, in the order of their arrival.

    python -m benchmarks.shapes.topics JOB.json

The files of the `json` shape are written into the topics line by line, by Spark's own connector in one task, so that
each partition has its rows in order; rows go to the partitions in turn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.packets.runs import run_python
from benchmarks.shapes.shapes import Shape
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

PARTITIONS = 2


@dataclass(frozen=True)
class Filling:
    """Which files go into which topics of which broker."""

    data: str
    streams: tuple[str, ...]
    address: str
    jars: str

    def run(self, home: Path) -> None:
        """Fill the topics, in a process of its own."""
        (home / "topics.json").write_text(json.dumps(asdict(self)), encoding="utf-8")
        run_python(["-m", "benchmarks.shapes.topics", str(home / "topics.json")], home)


@dataclass(frozen=True)
class Source:
    """Where the rows of a shape are read, if not from files."""

    broker: str | None = None
    jars: str | None = None
    """Those that reach it."""


def source_of(shape: Shape, data: Path, home: Path) -> AbstractContextManager[Source]:
    """The topics of a shape that asks for them, filled; for any other the files that are there."""
    return _topics(data, shape.streams, home) if shape.form == "kafka" else nullcontext(Source())


@contextmanager
def _topics(data: Path, streams: tuple[str, ...], home: Path) -> Iterator[Source]:
    """A broker whose topics hold the rows of the streams: where it is, and by which jars Spark reaches it."""
    from tests.kafka.broker import Broker, jars  # noqa: PLC0415 - fetched by Maven only where a topic is asked for

    connector = ",".join(map(str, jars("connector")))
    broker = Broker(home / "broker")
    broker.start()
    try:
        Filling(str(data), streams, broker.address, connector).run(home)
        yield Source(broker.address, connector)
    finally:
        broker.stop()


def main(job: Filling) -> None:
    """Write the topics, one after the other."""
    settings = {"spark.jars": job.jars, "spark.ui.enabled": "false", "spark.driver.memory": "4g"}
    builder = SparkSession.builder.appName("topics").master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for stream in job.streams:
        _create(spark, job.address, stream)
        # File by file: of several at once Spark reads the largest first.
        for file in sorted(map(str, Path(job.data, stream).iterdir())):
            lines = spark.read.text(file).coalesce(1).withColumn("n", F.monotonically_increasing_id())
            records = lines.select("value", (F.col("n") % PARTITIONS).cast("int").alias("partition"))
            records.write.format("kafka").option("kafka.bootstrap.servers", job.address).option("topic", stream).save()
    spark.stop()


def _create(spark: SparkSession, address: str, topic: str) -> None:
    jvm = spark._jvm
    assert jvm is not None
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", address)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    wanted = jvm.java.util.ArrayList()
    # PySpark gives Python's numbers as ints, where Kafka asks for a short.
    one = jvm.java.lang.Short.valueOf("1")
    wanted.add(jvm.org.apache.kafka.clients.admin.NewTopic(topic, PARTITIONS, one))
    admin.createTopics(wanted).all().get()
    admin.close()


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    main(Filling(told["data"], tuple(told["streams"]), told["address"], told["jars"]))
