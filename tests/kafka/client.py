"""Topics and records for tests, by Kafka's own client in the JVM of a Spark session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession


class Client:
    """What a test does with a broker."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self.spark = spark
        self.address = address
        self.jvm: Any = spark._jvm

    def _admin(self) -> Any:
        return self.jvm.org.apache.kafka.clients.admin.AdminClient.create(self._settings())

    def _settings(self, **more: str) -> Any:
        settings = self.jvm.java.util.Properties()
        settings.put("bootstrap.servers", self.address)
        for name, value in more.items():
            settings.put(name.replace("_", "."), value)
        return settings

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic."""
        admin = self._admin()
        optional = self.jvm.java.util.Optional
        new = self.jvm.org.apache.kafka.clients.admin.NewTopic(topic, optional.of(partitions), optional.empty())
        admin.createTopics(self._list([new])).all().get()
        admin.close()

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let a topic have so many partitions."""
        admin = self._admin()
        wanted = self.jvm.java.util.HashMap()
        wanted.put(topic, self.jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions))
        admin.createPartitions(wanted).all().get()
        admin.close()

    def delete(self, topic: str) -> None:
        """Remove a topic."""
        admin = self._admin()
        admin.deleteTopics(self._list([topic])).all().get()
        admin.close()

    def send(self, topic: str, records: Iterable[tuple[int, str | None, Any]]) -> None:
        """Send records: partition, key, and a value: text as it is, anything else as JSON."""
        text = "org.apache.kafka.common.serialization.StringSerializer"
        settings = self._settings(key_serializer=text, value_serializer=text, linger_ms="20")
        producer = self.jvm.org.apache.kafka.clients.producer.KafkaProducer(settings)
        record = self.jvm.org.apache.kafka.clients.producer.ProducerRecord
        for partition, key, value in records:
            shown = value if value is None or isinstance(value, str) else json.dumps(value)
            producer.send(record(topic, partition, key, shown))
        producer.flush()
        producer.close()

    def read(self, topic: str) -> list[tuple[str | None, Mapping[str, Any]]]:
        """All records of a topic: key and value."""
        options = {"kafka.bootstrap.servers": self.address, "subscribe": topic}
        rows = self.spark.read.format("kafka").options(**options).load()
        found = rows.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value").collect()
        return [(row["key"], json.loads(row["value"])) for row in found]

    def _list(self, items: Iterable[Any]) -> Any:
        found = self.jvm.java.util.ArrayList()
        for item in items:
            found.add(item)
        return found
