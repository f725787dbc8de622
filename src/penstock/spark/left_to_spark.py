"""Streams whose JSON only Spark reads as it means: found while a batch is read, and read by Spark from then on.

A task that meets such a line (`plain_json.NotPlain`) ends the query before its batch has given anything, and the query
is started again with Spark as the reader of that stream: from its checkpoint, so that the batch is read once more and
nothing is lost or given twice. What is wrong with the line, if anything, Spark then says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.model.script import Script
from penstock.spark.cluster import forget_everywhere
from penstock.spark.running import Running
from penstock.spark.stream import Assembled

_SAID = re.compile(r"error: stream (?P<where>.{1,5000}?) holds JSON that only Spark reads as it means", re.DOTALL)
"""Of whatever kind: a sink's function tells such an error again as one of its own."""


@dataclass(frozen=True)
class LeftToSpark:
    """Has Spark read what only it can, of queries that have ended for it."""

    spark: SparkSession
    script: Script
    prepared: Callable[[Running], Assembled]
    """Puts a query together anew, those streams left to Spark that it says."""
    say: Callable[[str], None] | None

    def __call__(self, one: Running) -> bool:
        """Whether that is why it ended: then it can start again."""
        failure = None if one.handle is None else one.handle.exception()
        met = None if failure is None else met_in(str(failure), self.script)
        if met is None or met[0] in one.left_to_spark:
            return False
        stream, place = met
        one.left_to_spark |= {stream}
        forget_everywhere(self.spark, one.assembled.run)
        one.runs_before.append(one.assembled.run)
        one.assembled = self.prepared(one)
        if self.say is not None:
            told = f"{place} holds JSON that is not plain; Spark reads {stream} from here on"
            self.say(f"note: {one.query.name}: {told}")
        return True


def met_in(failure: str, script: Script) -> tuple[str, str] | None:
    """The stream in which a query met such a line, and where; None if that is not why it failed."""
    if (found := _SAID.search(failure)) is None:
        return None
    named = (stream.name for stream in script.streams if found["where"].startswith(f"{stream.name}: "))
    name = max(named, key=len, default=None)
    return None if name is None else (name, found["where"].removeprefix(f"{name}: "))
