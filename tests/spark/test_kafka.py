"""Kafka as source and sink, against a real broker: partitions are parts, nothing lost and nothing twice.

Where Maven is missing, these tests say so and are skipped; where it is there, they are required.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.spark.readers import reader_of
from tests.kafka.broker import Broker
from tests.kafka.client import Client
from tests.maven import lacking
from tests.spark.conftest import Bench, connector, kill_session
from tests.spark.test_run import is_clean

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))

SCRIPT = """
CREATE STREAM orders (
  id BIGINT, item STRING, ts TIMESTAMP, _key STRING, _partition INT, _offset BIGINT,
  EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS, ON MALFORMED QUARANTINE
) USING kafka OPTIONS ('kafka.bootstrap.servers' '{address}', subscribe 'orders', startingOffsets 'earliest'{more});
CREATE STREAM payments (
  order_id BIGINT, amount INT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS
) USING kafka OPTIONS ('kafka.bootstrap.servers' '{address}', subscribe 'payments', startingOffsets 'earliest'{more});
CREATE SINK out USING {sink};
INSERT INTO out
SELECT o.id, o.item, o._partition AS part, o._offset AS at, o._key AS k, p.amount
FROM orders AS o, payments AS p
WHERE o.id = p.order_id AND p.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 60 SECONDS;
"""
TO_KAFKA = "kafka OPTIONS ('kafka.bootstrap.servers' '{address}', topic 'paid', 'key.columns' 'id')"
TO_FILES = "parquet OPTIONS (path '{out}')"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("kafka"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(spark: SparkSession, broker: Broker) -> Iterator[Client]:
    made = Client(spark, broker.address)
    yield made
    for topic in ("orders", "payments", "paid"):
        try:
            made.delete(topic)
        except Exception:
            continue


def script(broker: Broker, sink: str, more: str = "") -> str:
    return SCRIPT.replace("{sink}", sink).replace("{more}", more).replace("{address}", broker.address)


def at(second: int) -> str:
    return f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def order(n: int, second: int) -> dict[str, Any]:
    return {"id": n, "item": f"i{n % 3}", "ts": at(second)}


def payment(n: int, second: int) -> dict[str, Any]:
    return {"order_id": n, "amount": n * 10, "ts": at(second)}


def test_partitions_are_parts_and_rows_come_and_go_as_records(bench: Bench, broker: Broker, client: Client) -> None:
    client.create("orders", 3)
    client.create("payments", 2)
    client.create("paid", 1)
    # Partition after partition, each in order: as one stream this would be out of order by minutes. Partition 2 of the
    # orders is silent, so nothing is closed.
    client.send("orders", [(n % 2, f"key{n}", order(n, n * 10)) for n in sorted(range(60), key=lambda n: n % 2)])
    client.send("orders", [(1, None, "no JSON at all"), (1, None, '{"id": 7}{"id": 8}')])
    client.send("payments", [(n % 2, None, payment(n, n * 10 + 5)) for n in sorted(range(60), key=lambda n: n % 2)])
    ran = bench.run(script(broker, TO_KAFKA), unbounded=False, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    found = sorted((int(key or -1), row) for key, row in client.read("paid"))
    assert [key for key, _ in found] == list(range(60))
    assert found[7][1] == {"id": 7, "item": "i1", "part": 1, "at": 3, "k": "key7", "amount": 70}
    assert all(not line["violations"] for line in ran.batches)
    assert ran.batches[-1]["parts"]["orders"]["known"] == 3
    assert sum(line["malformed"]["orders"] for line in ran.batches) == 2
    assert ran.batches[-1]["state_tuples"]["p"] == 60, "the silent partition may still bring any of their orders"
    assert "partition orders-1 holds JSON that is not plain; Spark reads orders from here on" in ran.err
    assert "Spark reads payments" not in ran.err


def test_plain_values_give_what_they_give_where_spark_reads_them(bench: Bench, broker: Broker, client: Client) -> None:
    """Of topics named together, with records that have no value, and columns of the record beside the value's."""
    client.create("orders", 2)
    client.create("payments", 2)
    client.send("orders", [(n % 2, f"key{n}", None if n % 7 == 5 else order(n, n)) for n in range(40)])
    client.send("payments", [(n % 2, None, payment(n, n + 5)) for n in range(40)])
    both = script(broker, TO_FILES).replace("subscribe 'payments'", "subscribe 'payments,orders'")
    both = both.replace("AS k, p.amount", "AS k, p.amount, p.topic").replace(
        "amount INT,", "amount INT, _topic STRING,"
    )
    both = both.replace("p.topic", "p._topic AS topic").replace(", ON MALFORMED QUARANTINE", "")
    told = {}
    for reader in ("penstock", "spark"):
        text = both.replace("{out}", f"{{out}}/{reader}")
        ran = bench.run(text, unbounded=False, checkpoint=reader, conf={"penstock.json": reader})
        assert ran.code == 0, ran.err
        assert "not plain" not in ran.err
        told[reader] = ([line["rows_in"] for line in ran.batches], ran.batches[-1]["parts"], bench.sink(reader))
    assert told["penstock"] == told["spark"]
    assert sum(told["penstock"][2].values()) == sum(n % 7 != 5 for n in range(40))


@pytest.mark.thorough
def test_to_read_a_topic_to_its_end_does_not_wait_for_more(spark: SparkSession, broker: Broker, client: Client) -> None:
    """Kafka's own way is to let a consumer wait for half a second, in each batch of a query that keeps up."""
    client.create("orders", 1)
    client.send("orders", [(0, None, order(n, n)) for n in range(200)])

    def least_seconds(more: str) -> float:
        read = penstock.parse(script(broker, TO_FILES, more).replace("{out}", "none")).stream("orders")
        assert read is not None
        records = reader_of(spark.read, read).load()
        took = []
        for _ in range(4):
            began = time.perf_counter()
            assert records.count() == 200
            took.append(time.perf_counter() - began)
        return min(took[1:])

    assert least_seconds("") < least_seconds(", 'kafka.fetch.max.wait.ms' '500'") - 0.25


@pytest.mark.thorough
def test_a_catch_up_of_partitions_whose_records_begin_apart_breaks_nothing(
    bench: Bench, broker: Broker, client: Client
) -> None:
    """Of two hours' records one partition has all and the other the last: both speak in every batch, far apart."""
    client.create("orders", 2)
    client.create("payments", 1)
    times = {n: n * 60 if n < 120 else 6000 + (n - 120) * 30 for n in range(160)}
    client.send("orders", [(n // 120, None, order(n, second)) for n, second in times.items()])
    in_time = sorted(times.items(), key=lambda one: one[1])
    client.send("payments", [(0, None, payment(n, second + 5)) for n, second in in_time])
    text = script(broker, TO_FILES, ", maxOffsetsPerTrigger '40'")
    ran = bench.run(text.replace("EVENT TIME ts,", "EVENT TIME ts IDLE AFTER 10 MINUTES,"), unbounded=False)
    assert ran.code == 0, ran.err
    assert len(ran.batches) >= 4
    assert all(not line["violations"] and not line["parts"]["orders"]["idle"] for line in ran.batches[:4])
    assert given(bench) == Counter((n, n * 10) for n in times)
    # Caught up, what is kept lies near the clocks.
    assert ran.batches[-1]["state_tuples"]["p"] < 10


@pytest.mark.thorough
def test_a_job_that_reads_topics_is_adopted_as_it_is(bench: Bench, broker: Broker, client: Client) -> None:
    """Its records are parsed by Spark below the join; it goes on from its checkpoint where it left off."""
    spark = client.spark
    for name in ("orders", "payments"):
        client.create(name, 1)

    def topic(name: str, fields: str, time: str) -> DataFrame:
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.address)
        raw = source.option("subscribe", name).option("startingOffsets", "earliest").load()
        parsed = raw.select(F.from_json(F.col("value").cast("string"), fields).alias("v")).select("v.*")
        return parsed.withColumnRenamed("ts", time).withWatermark(time, "5 seconds")

    orders = topic("orders", "id BIGINT, item STRING, ts TIMESTAMP", "ordered")
    payments = topic("payments", "order_id BIGINT, amount INT, ts TIMESTAMP", "paid")
    near = "id = order_id AND paid BETWEEN ordered AND ordered + INTERVAL 60 SECONDS"
    job = orders.join(payments, F.expr(near)).select("id", "amount")
    assert penstock.check(job).verdict == "bounded"
    out = str(bench.folder / "adopted")

    def run() -> None:
        writer = penstock.adopt(job).writeStream.format("parquet").option("path", out).trigger(availableNow=True)
        writer.option("checkpointLocation", str(bench.folder / "checkpoint-adopted")).start().awaitTermination()

    for first in (0, 30):
        client.send("orders", [(0, None, order(n, n * 10)) for n in range(first, first + 30)])
        client.send("payments", [(0, None, payment(n, n * 10 + 35)) for n in range(max(first - 3, 0), first + 27)])
        run()
        found = sorted(tuple(row) for row in spark.read.parquet(out).collect())
        assert found == [(n, n * 10) for n in range(first + 27)]


Expected = Counter[tuple[Any, ...]]


def naive(orders: list[tuple[int, int, int]], payments: list[tuple[int, int, int]]) -> Expected:
    """The join of all that was sent, as (partition, id, second): (id, amount) of each pair."""
    near = ((one, other) for one in orders for other in payments if one[1] == other[1] and 0 <= other[2] - one[2] <= 60)
    return Counter((one[1], other[1] * 10) for one, other in near)


class Sender:
    """Sends random records, each partition in its order; of all partitions some are further than others."""

    def __init__(self, client: Client, seed: int, parts: dict[str, int]) -> None:
        self.client = client
        self.draw = Random(seed)
        self.parts = parts
        self.sent: dict[str, list[tuple[int, int, int]]] = {topic: [] for topic in parts}
        self.clock = {topic: dict.fromkeys(range(count), 0) for topic, count in parts.items()}

    def send(self, count: int) -> None:
        for topic, make in (("orders", order), ("payments", payment)):
            records = []
            for _ in range(count):
                part = self.draw.randrange(self.parts[topic])
                now = self.clock[topic].setdefault(part, min(self.clock[topic].values()))
                self.clock[topic][part] = now + self.draw.randint(0, 6)
                row = (part, self.draw.randint(0, 30), max(0, self.clock[topic][part] - self.draw.randint(0, 5)))
                self.sent[topic].append(row)
                records.append((part, None, make(row[1], row[2])))
            self.client.send(topic, records)

    @property
    def expected(self) -> Expected:
        return naive(self.sent["orders"], self.sent["payments"])


def given(bench: Bench) -> Expected:
    """Of the columns of the answer: id and amount."""
    found: Expected = Counter()
    for row, count in bench.sink().items():
        found[row[0], row[5]] += count
    return found


def begun(client: Client, seed: int) -> Sender:
    parts = {"orders": 3, "payments": 2}
    for topic, count in parts.items():
        client.create(topic, count)
    return Sender(client, seed, parts)


@pytest.mark.thorough
def test_restarts_and_added_partitions_lose_nothing_and_repeat_nothing(
    bench: Bench, broker: Broker, client: Client
) -> None:
    sender = begun(client, 1)
    text = script(broker, TO_FILES, ", maxOffsetsPerTrigger '70'")
    for step in range(3):
        sender.send(120)
        if step == 1:
            client.add_partitions("orders", 4)
            sender.parts["orders"] = 4
        ran = bench.run(text, unbounded=False, conf={"penstock.cells": "2"})
        assert ran.code == 0, ran.err
        assert given(bench) == sender.expected, step
    # All partitions go on, and what waited goes.
    for second in (9000, 9001):
        client.send("orders", [(p, None, order(500, second)) for p in range(4)])
        client.send("payments", [(p, None, payment(600, second)) for p in range(2)])
    ran = bench.run(text, unbounded=False, conf={"penstock.cells": "2"})
    assert sum(ran.batches[-1]["state_tuples"].values()) < 20
    assert all(not line["violations"] for line in ran.batches)
    assert ran.batches[-1]["parts"]["orders"]["known"] == 4


@pytest.mark.thorough
def test_a_run_that_is_killed_and_a_broker_that_is_killed_lose_nothing_and_repeat_nothing(
    outside: Bench, broker: Broker, client: Client
) -> None:
    sender = begun(client, 2)
    text = script(broker, TO_FILES, ", maxOffsetsPerTrigger '40'")
    options: dict[str, Any] = {"unbounded": False, "conf": {"penstock.cells": "2", **connector()}}
    sender.send(200)
    process = outside.start(text, now=False, **options)
    _wait(lambda: len(outside.metrics()) >= 2, process)
    kill_session(process.pid)
    process.communicate()
    sender.send(100)
    process = outside.start(text, now=False, **options)
    seen = len(outside.metrics())
    _wait(lambda: len(outside.metrics()) > seen + 1, process)
    broker.kill()
    time.sleep(3)
    broker.start()
    sender.send(100)
    _wait(lambda: given(outside) == sender.expected, process)
    process.terminate()
    ran = outside.finish(process)
    assert given(outside) == sender.expected, ran.err
    assert "stopped: batches that were committed stay" in ran.err
    assert all(not line["violations"] for line in ran.batches)


@pytest.mark.thorough
def test_a_run_stops_in_time_while_brokers_are_killed_and_goes_on_when_they_are_back(
    outside: Bench, broker: Broker, client: Client
) -> None:
    """Kubernetes kills what has not ended 30 seconds after SIGTERM; Kafka's client waits a minute for its brokers."""
    sender = begun(client, 2)
    text = script(broker, TO_FILES)
    options: dict[str, Any] = {"unbounded": False, "conf": {"penstock.cells": "2", **connector()}}
    sender.send(100)
    process = outside.start(text, now=False, **options)
    _wait(lambda: given(outside) == sender.expected, process)
    broker.kill()
    time.sleep(3)
    process.terminate()
    since = time.monotonic()
    ran = outside.finish(process)
    took = time.monotonic() - since
    broker.start()
    assert took < 28, ran.err
    assert "stopped: batches that were committed stay" in ran.err
    sender.send(50)
    ran = outside.finish(outside.start(text, now=True, **options))
    assert ran.code == 0, ran.err
    assert given(outside) == sender.expected


def _wait(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 240
    while not done():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing more came"
        time.sleep(0.5)


@pytest.mark.thorough
def test_punctuations_come_from_a_topic(bench: Bench, broker: Broker, client: Client) -> None:
    """Keyed by what they close, each lies in the partition of the rows that it is about."""
    client.create("orders", 2)
    client.create("payments", 2)
    address = f"'kafka.bootstrap.servers' '{broker.address}', startingOffsets 'earliest'"
    text = f"""
    CREATE STREAM orders (id BIGINT, item STRING, kind STRING, PUNCTUATED ON (id) WHEN kind = 'closed')
      USING kafka OPTIONS ({address}, subscribe 'orders');
    CREATE STREAM payments (order_id BIGINT, amount INT, kind STRING, PUNCTUATED ON (order_id) WHEN kind = 'closed')
      USING kafka OPTIONS ({address}, subscribe 'payments');
    CREATE SINK out USING parquet OPTIONS (path '{{out}}');
    INSERT INTO out SELECT o.id, p.amount FROM orders AS o, payments AS p WHERE o.id = p.order_id;
    """
    for n in range(20):
        client.send("orders", [(n % 2, str(n), {"id": n, "item": "x", "kind": "order"})])
        client.send("payments", [(n % 2, str(n), {"order_id": n, "amount": n, "kind": "payment"})])
    ran = bench.run(text, unbounded=False)
    assert ran.code == 0, ran.err
    assert ran.batches[-1]["state_tuples"] == {"o": 20, "p": 20}
    client.send("orders", [(n % 2, str(n), {"id": n, "kind": "closed"}) for n in range(15)])
    client.send("payments", [(n % 2, str(n), {"order_id": n, "kind": "closed"}) for n in range(15)])
    ran = bench.run(text, unbounded=False)
    assert ran.code == 0, ran.err
    assert ran.batches[-1]["state_tuples"] == {"o": 5, "p": 5}
    assert bench.sink() == Counter((n, n) for n in range(20))


@pytest.mark.thorough
def test_a_topic_that_was_made_anew_is_an_error(bench: Bench, broker: Broker, client: Client) -> None:
    sender = begun(client, 3)
    sender.send(30)
    assert bench.run(script(broker, TO_FILES), unbounded=False).code == 0
    client.delete("orders")
    time.sleep(1)
    client.create("orders", 3)
    client.send("orders", [(0, None, order(1, 5000))])
    ran = bench.run(script(broker, TO_FILES), unbounded=False)
    assert is_clean(ran, 1), ran.err
    assert "the topic orders was deleted and made anew since this checkpoint read it" in ran.err


@pytest.mark.thorough
def test_a_topic_that_was_made_anew_is_known_by_its_id_where_its_offsets_say_nothing(
    bench: Bench, broker: Broker, client: Client
) -> None:
    """It has more records than were read of the old one: those below would be passed over without a word."""
    sender = begun(client, 4)
    sender.send(30)
    text = script(broker, TO_FILES)
    assert bench.run(text, unbounded=False).code == 0
    before = given(bench)
    client.delete("orders")
    time.sleep(1)
    client.create("orders", 3)
    client.send("orders", [(part, None, order(n, 5000 + n)) for part in range(3) for n in range(60)])
    ran = bench.run(text, unbounded=False)
    assert is_clean(ran, 1), ran.err
    assert "stream orders: the topic orders was deleted and made anew since this checkpoint read it" in ran.err
    assert given(bench) == before
    going_on = text.replace("subscribe 'orders'", "subscribe 'orders', failOnDataLoss 'false'")
    ran = bench.run(going_on, unbounded=False)
    assert ran.code == 0, ran.err
    assert "made anew since this checkpoint read it; records below the offset that it goes on from are" in ran.err
    assert "records of orders that are gone before they are read are passed over, and nobody counts them" in ran.err


@pytest.mark.thorough
def test_what_does_not_read_goes_to_a_topic_of_its_own(bench: Bench, broker: Broker, client: Client) -> None:
    client.create("orders", 1)
    client.create("paid", 1)
    client.send("orders", [(0, None, order(1, 1)), (0, "k", "no JSON"), (0, None, order(2, 2)), (0, None, "{")])
    address = f"'kafka.bootstrap.servers' '{broker.address}'"
    text = f"""
    CREATE STREAM orders (id BIGINT, item STRING, ts TIMESTAMP, ON MALFORMED QUARANTINE INTO unread)
      USING kafka OPTIONS ({address}, subscribe 'orders', startingOffsets 'earliest');
    CREATE SINK unread USING kafka OPTIONS ({address}, topic 'paid', 'key.columns' 'source_file');
    CREATE SINK out USING parquet OPTIONS (path '{{out}}');
    INSERT INTO out SELECT id FROM orders;
    """
    for _ in range(2):
        ran = bench.run(text, unbounded=False)
        assert ran.code == 0, ran.err
    assert bench.sink() == Counter([(1,), (2,)])
    kept_out = {f"orders-0 at offset {n}": value for n, value in ((1, "no JSON"), (3, "{"))}
    assert sorted(client.read("paid"), key=str) == [
        (place, {"source_file": place, "record": value}) for place, value in kept_out.items()
    ]
    misspelt = text.replace("'source_file'", "'place'").replace("{out}", "{out}/another")
    wrong = bench.run(misspelt, unbounded=False, checkpoint="another")
    assert is_clean(wrong, 2), wrong.err
    assert "sink unread: key.columns names place, which is no column of its rows" in wrong.err
    assert not (bench.folder / "out" / "another").exists(), "nothing was started"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "value", ["no JSON", '{"id": "seven", "item": "a", "ts": "2026-01-01T00:00:00Z"}', '{"id": 1, "ts": 5}'[:-4]]
)
def test_a_malformed_value_fails_with_its_partition_and_offset_or_is_null(
    bench: Bench, broker: Broker, client: Client, value: str
) -> None:
    client.create("orders", 3)
    client.create("payments", 2)
    client.send("orders", [(1, None, order(1, 1)), (1, None, value), (1, None, order(2, 2))])
    client.send("payments", [(0, None, payment(2, 3))])
    text = script(broker, TO_FILES)
    failing = text.replace(", ON MALFORMED QUARANTINE", "").replace("{out}", "{out}/failed")
    ran = bench.run(failing, unbounded=False, checkpoint="failed")
    assert ran.code == 1
    assert "orders-1 at offset 1" in ran.err
    assert value in ran.err
    ran = bench.run(text.replace("QUARANTINE", "NULL").replace("{out}", "{out}/null"), unbounded=False)
    assert ran.code == 0, ran.err
    assert [(row[0], row[5]) for row in bench.sink("null")] == [(2, 20)]
    assert ran.batches[-1]["malformed"] == {"orders": 1, "payments": 0}


@pytest.mark.thorough
def test_the_demo_fetches_a_broker_fills_it_and_shows_the_job(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.kafka.demo", str(tmp_path / "demo"), "400"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "orders: 400 records in 4 partitions" in done.stdout
    assert "\npaid: " in done.stdout


@pytest.mark.thorough
def test_what_is_missing_is_said_in_a_sentence(outside: Bench, bench: Bench, broker: Broker, client: Client) -> None:
    ran = outside.finish(outside.start(script(broker, TO_FILES), unbounded=False))
    assert ran.code == 2
    assert "stream orders: Spark has no format kafka here" in ran.err
    assert "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:" in ran.err
    ran = bench.run(script(broker, TO_FILES), unbounded=False)
    assert ran.code == 1
    assert "stream orders: the brokers do not tell the partitions of its topics" in ran.err
    assert client.address in script(broker, TO_FILES)
