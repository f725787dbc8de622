"""A job's DataFrame, read into a script, and the answer of that script in the place of what was read.

What lies above the region finds the expression ids that it knew: the answer stands under a projection whose columns
carry them. Their types must be those that Spark gave them, or nothing is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InternalError, UsageError
from penstock.frames.job_script import JobScript, script_of
from penstock.model.names import quoted
from penstock.spark.frames.catalyst import Catalyst, Node, children, number_of, output
from penstock.spark.frames.plan_reader import Deduplication, PlanReader, ReadJob, deduplications, holds_state
from penstock.spark.frames.promised_plans import promised_in


@dataclass(frozen=True)
class ReadFrame:
    """A DataFrame that was read: its script, and what is needed to put the answer in its place."""

    session: SparkSession
    job: ReadJob
    script: JobScript

    @property
    def keeps_state(self) -> bool:
        """Whether there is anything to adopt."""
        return len(self.job.leaves) != 1 or not self.job.leaves[0].sameResult(self.job.region)

    @property
    def deduplications(self) -> tuple[tuple[str, Deduplication], ...]:
        """What Spark deduplicates itself, by the name of the stream."""
        leaves = self.job.leaves
        return tuple((one.name, found) for one in self.script.streams for found in deduplications(leaves[one.source]))

    @property
    def inputs(self) -> Mapping[str, DataFrame]:
        """The leaves as DataFrames, by the names of their streams, with the columns that these declare."""
        catalyst = Catalyst(self.session)
        found = {}
        for stream in self.script.streams:
            frame = catalyst.frame(self.job.leaves[stream.source])
            places = [f"column_{place}" for place in range(len(frame.columns))]
            picked = [f"{places[place]} AS {quoted(name)}" for name, place in stream.columns]
            found[stream.name] = frame.toDF(*places).selectExpr(*picked)
        return found

    def over(self, answer: DataFrame) -> DataFrame:
        """The DataFrame with the answer of the script in the place of what was read."""
        catalyst = Catalyst(self.session)
        plan = answer._jdf.queryExecution().analyzed()
        given = {str(attribute.name()): attribute for attribute in output(plan)}
        names = dict(self.script.outputs)
        columns = []
        for attribute in self.job.wanted:
            found = given[names[number_of(attribute)]]
            _require_type(found, attribute)
            columns.append(catalyst.alias(found, str(attribute.name()), attribute))
        new = catalyst.project(columns, plan)
        for node in reversed(self.job.path):
            new = node.withNewChildren(catalyst.seq(self._over_new(node, new)))
        return catalyst.frame(new)

    def _over_new(self, node: Node, new: Node) -> list[Node]:
        """What a node above the region stands on, with the answer in it."""
        return [new if holds_state(child) else child for child in children(node)]


def require_frame(frame: DataFrame) -> None:
    """Raise UsageError if it is no DataFrame whose plan can be read."""
    if not isinstance(frame, DataFrame):
        raise UsageError(
            f"a DataFrame is wanted, and this is of type {type(frame).__name__}",
            hint="pass what spark.readStream and its joins give, or a script",
        )
    if not hasattr(frame, "_jdf"):
        raise UsageError(
            "Penstock reads the plans of Spark itself, and Spark Connect shows none to its clients",
            hint="run the job with a classic SparkSession (spark.master, not spark.remote)",
        )


def read_frame(frame: DataFrame) -> ReadFrame:
    """What a DataFrame says; raises UsageError or NotSupportedYet with the place of what cannot be read."""
    require_frame(frame)
    catalyst = Catalyst(frame.sparkSession)
    job = PlanReader(catalyst, promised_in(frame.sparkSession)).read(catalyst.analyzed(frame))
    wanted = [number_of(one) for one in job.wanted]
    return ReadFrame(frame.sparkSession, job, script_of(job.relation, wanted, job.promises))


def _require_type(found: Node, wanted: Node) -> None:
    given, asked = (str(one.dataType().catalogString()) for one in (found, wanted))
    if given != asked:
        raise InternalError(
            f"the column {wanted.name()} is {asked} to Spark, and Penstock gives {given}",
            hint="this is a bug in Penstock: please report it with the job; Spark runs the job as it is",
        )
