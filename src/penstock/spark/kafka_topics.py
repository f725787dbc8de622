"""The topics that a query has read, by the ids that brokers give them: one that was made anew is another.

Spark goes on from an offset. Where a topic was deleted and made anew under its name, the offset is too high, and Spark
says so; but once as many records have come as had been read of the old one, it is an offset like any other, and the
records below it are passed over without a word. So the ids stand beside the state, and are asked for at each start.

Not seen: a topic that is made anew while the query runs is found at its next start. Brokers before Kafka 2.8 give no
ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from pyspark.sql import SparkSession

from penstock.errors import DataError
from penstock.model.stream import Stream
from penstock.spark.hadoop_path import AnyPath, replace_text
from penstock.spark.kafka import passes_over_losses, topics_of

Topics = Mapping[str, Mapping[str, str]]
"""By stream and by topic, the id."""


class KnownTopics:
    """The topics of a query's streams, as they are now and as its checkpoint knows them."""

    def __init__(self, spark: SparkSession, folder: AnyPath, streams: Iterable[Stream]) -> None:
        self._folder = folder
        self._streams = {stream.name: stream for stream in streams if stream.is_kafka}
        self._now: Topics = {name: topics_of(spark, stream) for name, stream in self._streams.items()}

    @property
    def _file(self) -> AnyPath:
        return self._folder / "topics.json"

    def _known(self) -> Topics:
        if not self._file.exists():
            return {}
        try:
            return {name: dict(ids) for name, ids in json.loads(self._file.read_text(encoding="utf-8")).items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise DataError(f"{self._file} cannot be read: {error}", hint="the checkpoint is damaged") from error

    def require(self, say: Callable[[str], None] | None) -> None:
        """Raise DataError on a topic that was made anew, or say so where its stream passes over what is lost."""
        known = self._known()
        for name, ids in self._now.items():
            then = known.get(name, {})
            for topic in (topic for topic in ids if then.get(topic, ids[topic]) != ids[topic]):
                what = f"stream {name}: the topic {topic} was deleted and made anew since this checkpoint read it"
                if not passes_over_losses(self._streams[name]):
                    raise DataError(
                        what,
                        detail="it goes on from an offset of the old one, and would pass over the records below it",
                        hint="begin with a new --checkpoint and another sink",
                    )
                if say is not None:
                    say(f"note: {what}; records below the offset that it goes on from are passed over")

    def keep(self) -> None:
        """Keep them for the next start, with those that are not there today."""
        if self._now and self._now != (known := self._known()):
            both = {name: {**known.get(name, {}), **ids} for name, ids in self._now.items()}
            replace_text(self._file, json.dumps({**known, **both}, indent=1))
