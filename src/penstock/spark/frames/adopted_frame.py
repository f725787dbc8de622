"""A job's DataFrame, read into a script, and the answer of that script in the place of what was read.

What lies above the region finds the expression ids that it knew: the answer stands under a projection whose columns
carry them. Their types must be those that Spark gave them, or nothing is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InternalError, UsageError
from penstock.frames.frame_promises import EventTime
from penstock.frames.job_fixes import JobFix, clocks_of, usual_fixes
from penstock.frames.job_hints import NO_HINTS, JobHints
from penstock.frames.job_relations import JobRelation, leaves_of
from penstock.frames.job_script import JobPromise, JobScript, script_of
from penstock.model.names import quoted
from penstock.spark.frames.catalyst import Catalyst, Node, children, items, number_of, output
from penstock.spark.frames.deduplicated_answers import clock_of, deduplicated, names_of_keys, without_watermarks
from penstock.spark.frames.deduplications import Deduplication, deduplications
from penstock.spark.frames.event_times import several_event_times
from penstock.spark.frames.given_clocks import given_clocks
from penstock.spark.frames.heartbeats import hidden_clock, with_heartbeats
from penstock.spark.frames.kept_state import holds_state
from penstock.spark.frames.plan_reader import PlanReader
from penstock.spark.frames.promised_plans import promised_in
from penstock.spark.frames.read_job import ReadJob


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
        """What Spark deduplicates itself below, by the name of the stream."""
        leaves = self.job.leaves
        return tuple((one.name, found) for one in self.script.streams for found in deduplications(leaves[one.source]))

    @property
    def deduplicated(self) -> tuple[str, ...] | None:
        """The columns that the answer is deduplicated by; None if it is not."""
        found = deduplicated(self.job.path)
        return None if found is None else names_of_keys(found)

    @property
    def told_apart_by(self) -> tuple[int, ...]:
        """The places of these columns among those of the DataFrame, as far as it has them."""
        found = deduplicated(self.job.path)
        keys = set() if found is None else {number_of(key) for key in items(found.keys())}
        return tuple(place for place, one in enumerate(output(self.job.plan)) if number_of(one) in keys)

    @property
    def forgetting(self) -> str | None:
        """The column of the answer by whose watermark Spark could forget what it deduplicates there."""
        found = deduplicated(self.job.path)
        clock = None if found is None else clock_of(found)
        return None if clock is None else dict(self.script.outputs).get(clock)

    @property
    def event_times(self) -> tuple[str, ...]:
        """The watermarks that meet in one state of the job as it stands, so that Spark does not start it."""
        return several_event_times(self.session, self.job.plan)

    @property
    def event_times_below(self) -> tuple[str, ...]:
        """The watermarks that meet in a state which stays Spark's, below what is read."""
        if not any(map(holds_state, self.job.leaves)):
            return ()
        plans = (
            frame._jdf.queryExecution().analyzed() for frame in self.inputs(marked=self.deduplicated is None).values()
        )
        return next(filter(None, (several_event_times(self.session, plan) for plan in plans)), ())

    def usual_fixes(self) -> Iterator[JobFix]:
        """What a Spark user would change to bound it."""
        ordered: dict[int, set[str]] = {}
        for one in self.job.promises:
            if one.promise.ordered is not None:
                ordered.setdefault(one.source, set()).add(one.promise.ordered)
        return usual_fixes(self.job.relation, ordered)

    def profiled_script(self, home: Path) -> JobScript:
        """The same job over files of its streams, each in a folder of its own, with a clock where there is a time."""
        wanted = [number_of(one) for one in self.job.wanted]
        told = {one.source for one in self.job.promises if one.promise.ordered is not None or one.promise.is_clock}
        leaves = {leaf.source: leaf for leaf in leaves_of(self.job.relation)}
        clocks = [
            JobPromise(source, EventTime(leaves[source].columns[place].name))
            for source, place in clocks_of(self.job.relation, {}).items()
            if source not in told and all(column.delay is None for column in leaves[source].columns)
        ]
        folders = {source: str(home / f"stream_{source}") for source in leaves}
        return script_of(self.job.relation, wanted, (*self.job.promises, *clocks), NO_HINTS, folders)

    def script_of(self, relation: JobRelation, hints: JobHints) -> str:
        """The text of the same job over another relation."""
        return script_of(relation, [number_of(one) for one in self.job.wanted], self.job.promises, hints).text

    def inputs(
        self,
        read_as: Callable[[Node], Node] = lambda leaf: leaf,
        script: JobScript | None = None,
        *,
        marked: bool = True,
    ) -> Mapping[str, DataFrame]:
        """The leaves as DataFrames, by the names of their streams, with the columns that these declare.

        With `read_as` another plan is read in the place of each leaf; with `script` for the streams of that one. Not
        `marked`, none has a watermark.
        """
        catalyst = Catalyst(self.session)

        def plan_of(leaf: Node) -> Node:
            read = read_as(leaf)
            return read if marked else without_watermarks(read, catalyst)

        found = {}
        for stream in (script or self.script).streams:
            leaf = self.job.leaves[stream.source]
            frame = _by_place(catalyst.frame(plan_of(leaf)))
            if any(place == len(frame.columns) for _, place in stream.columns):
                frame = _by_place(self._with_heartbeats(frame, leaf, plan_of))
            found[stream.name] = frame.selectExpr(
                *(f"column_{place} AS {quoted(name)}" for name, place in stream.columns)
            )
        return found

    @contextmanager
    def tables(self) -> Iterator[None]:
        """With the tables that are looked into as views of the session, for as long as the script's are made plans."""
        catalyst = Catalyst(self.session)
        try:
            for view in self.script.views:
                table = catalyst.frame(self.job.tables[view.table - 1])
                table.toDF(*view.columns).createOrReplaceTempView(view.view)
            yield
        finally:
            for view in self.script.views:
                self.session.catalog.dropTempView(view.view)

    def _with_heartbeats(self, rows: DataFrame, leaf: Node, read_as: Callable[[Node], Node]) -> DataFrame:
        mark = hidden_clock(leaf)
        assert mark is not None
        clock = Catalyst(self.session).frame(read_as(mark)).toDF(*(f"at_{n}" for n in range(len(output(mark)))))
        marked = [number_of(attribute) for attribute in output(mark)].index(number_of(mark.eventTime()))
        clocks = given_clocks(leaf)
        times = [place for place, attribute in enumerate(output(leaf)) if number_of(attribute) in clocks]
        return with_heartbeats(rows, clock.select(f"at_{marked}"), times[0])

    def over(self, answer: DataFrame, lag: int | None = None) -> DataFrame:
        """The DataFrame with the answer of the script in the place of what was read.

        With `lag`, its rows are at most so many milliseconds behind, in the column that `forgetting` says.
        """
        catalyst = Catalyst(self.session)
        if lag is not None and self.forgetting is not None:
            # A row whose time is exactly that of a watermark is late.
            answer = answer.withWatermark(self.forgetting, f"{lag + 1} milliseconds")
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


def _by_place(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(f"column_{place}" for place in range(len(frame.columns))))


def no_plans() -> UsageError:
    """What is said of Spark Connect."""
    return UsageError(
        "Penstock reads the plans of Spark itself, and Spark Connect shows none to its clients",
        hint="run the job with a classic SparkSession (spark.master, not spark.remote)",
    )


def require_frame(frame: DataFrame) -> None:
    """Raise UsageError if it is no DataFrame whose plan can be read."""
    if not isinstance(frame, DataFrame):
        kind = type(frame).__name__  # pandas and polars call theirs so, too.
        raise UsageError(
            "a DataFrame is wanted, and this is of type "
            + (f"{type(frame).__module__.partition('.')[0]}.{kind}" if kind == "DataFrame" else kind),
            hint="pass what spark.readStream and its joins give, or a script",
        )
    if not hasattr(frame, "_jdf"):
        raise no_plans()


def require_stream(frame: DataFrame) -> None:
    """Raise UsageError if a DataFrame is no stream whose plan can be read."""
    require_frame(frame)
    if not frame.isStreaming:
        raise UsageError(
            "this DataFrame is not a stream: a batch keeps no state from one run to the next",
            hint="pass a DataFrame that spark.readStream made",
        )


def read_frame(frame: DataFrame, hints: JobHints = NO_HINTS) -> ReadFrame:
    """What a DataFrame says; raises UsageError or NotSupportedYet with the place of what cannot be read."""
    require_stream(frame)
    catalyst = Catalyst(frame.sparkSession)
    job = PlanReader(catalyst, promised_in(frame.sparkSession)).read(catalyst.analyzed(frame))
    wanted = [number_of(one) for one in job.wanted]
    return ReadFrame(frame.sparkSession, job, script_of(job.relation, wanted, job.promises, hints))


def _require_type(found: Node, wanted: Node) -> None:
    given, asked = (str(one.dataType().catalogString()) for one in (found, wanted))
    if given != asked:
        raise InternalError(
            f"the column {wanted.name()} is {asked} to Spark, and Penstock gives {given}",
            hint="this is a bug in Penstock: please report it with the job; Spark runs the job as it is",
        )
