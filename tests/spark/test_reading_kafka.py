"""What the connector is told of a stream: how consumers fetch, unless it says, and which topic alone is read."""

from __future__ import annotations

import pytest

from penstock.model.stream import Storage
from penstock.spark.kafka import FETCHED, has_several_topics, only_topic, reading_kafka


def storage(**options: str) -> Storage:
    return Storage("kafka", tuple((name.replace("__", "."), value) for name, value in options.items()))


def test_consumers_fetch_as_a_stream_says_and_else_as_we_do() -> None:
    told = reading_kafka(storage(subscribe="a", kafka__bootstrap__servers="b:9092"), with_headers=False)
    assert told == {**FETCHED, "subscribe": "a", "kafka.bootstrap.servers": "b:9092"}
    mine = ("KAFKA.Max.Poll.Records", "7")
    told = reading_kafka(Storage("kafka", (("subscribe", "a"), mine)), with_headers=True)
    # Two spellings of one option: Spark would take one of them, and not say which.
    assert [(name, value) for name, value in told.items() if name.lower() == "kafka.max.poll.records"] == [mine]
    assert told["includeHeaders"] == "true"
    assert told["kafka.fetch.max.wait.ms"] == FETCHED["kafka.fetch.max.wait.ms"]


def test_what_is_ours_is_told_nobody() -> None:
    told = reading_kafka(Storage("kafka", (("value.format", "json"), ("key.columns", "k"))), with_headers=False)
    assert told == FETCHED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"subscribe": "a"}, "a"),
        ({"subscribe": " a "}, "a"),
        ({"subscribe": "a,b"}, None),
        ({"subscribePattern": "a"}, None),
        ({"assign": '{"a": [0, 1]}'}, "a"),
        ({"assign": '{"a": [0], "b": [0]}'}, None),
    ],
)
def test_the_only_topic_is_known_by_the_options(options: dict[str, str], expected: str | None) -> None:
    assert only_topic(storage(**options)) == expected
    assert has_several_topics(storage(**options)) == (expected is None)
