"""A query under way, and what Spark's progress tells of it: the metrics of each batch, and whether its answer is exact.

Who starts and stops it is none of its business (`run.py`); a query that somebody else runs is told of likewise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from pyspark.sql.streaming.query import StreamingQuery

from penstock.explain.exactness_words import inexact_because
from penstock.model.query import Query
from penstock.model.shown_names import shown_names
from penstock.plan.counting import Observed, read_observed, write_observed
from penstock.plan.plan import Plan
from penstock.runtime.block_counts import with_blocks
from penstock.runtime.counts import metrics_line, metrics_of, second_stage_of, with_second_stage
from penstock.runtime.exactness import Exactness
from penstock.spark.assembly import answer_observation, leaves_out, second_observation
from penstock.spark.batch_files import BatchFiles
from penstock.spark.batch_times import split
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.kafka_topics import KnownTopics
from penstock.spark.late_rows import WatermarkBefore
from penstock.spark.malformed import malformed_counts
from penstock.spark.quarantine_sinks import Drain
from penstock.spark.rewritten_query import counting_metrics, seen_in
from penstock.spark.stream import Assembled
from penstock.spark.told_progress import ToldProgress


@dataclass
class Running:
    """One query under way."""

    query: Query
    plan: Plan
    assembled: Assembled
    checkpoint: Checkpoint | None
    drains: tuple[Drain, ...] = ()
    """What hands quarantined rows on to their sinks."""
    draining: list[StreamingQuery] = field(default_factory=list)
    handle: StreamingQuery | None = None
    resumes: bool = False
    """Whether its checkpoint is not new."""
    starts: int = 0
    seen: int = -1
    batches: list[dict[str, Any]] = field(default_factory=list)
    """The metrics of each batch, in order."""
    needed: int = 0
    """What the last batch would have taken, where there is a budget."""
    exactness: Exactness = field(default_factory=Exactness)
    """What stands against its answer being exact, since the checkpoint began."""
    observed: Observed | None = None
    """What the samples of this run show, where joins are replaced by counts."""
    clock: WatermarkBefore = field(default_factory=WatermarkBefore)
    files: BatchFiles | None = None
    """What is asked of the files of each batch."""
    topics: KnownTopics | None = None
    """What is asked of the topics when it starts."""
    left_to_spark: frozenset[str] = frozenset()
    """The streams in which it met JSON that is not plain."""
    runs_before: list[str] = field(default_factory=list)
    """The names of its caches until then: tasks that were ended late may have left something there."""
    looked_at: int = -1
    """The last batch whose files were."""
    told: ToldProgress = field(default_factory=ToldProgress)

    @property
    def held(self) -> dict[str, int]:
        """The tuples stored after the last batch of this run, by alias."""
        return dict(self.batches[-1]["state_tuples"]) if self.batches else {}


Follower = Callable[[Running, dict[str, Any]], None]
"""Is told of each batch."""


def batches_seen(query: Query, plan: Plan, assembled: Assembled, handle: StreamingQuery) -> list[dict[str, Any]]:
    """The metrics of the batches that Spark still remembers of a query that runs elsewhere."""
    one = Running(query, plan, assembled, None, handle=handle)
    take_progress(one, None, None)
    return one.batches


def take_progress(one: Running, metrics: TextIO | None, follow: Follower | None) -> None:
    """Take note of the batches that Spark has told of since the last time: write them, and tell who follows."""
    assert one.handle is not None
    for progress in one.told.since_then(one.handle):
        if "addBatch" in progress["durationMs"]:  # Else it tells that it waits for that batch.
            _look_at_files(one, progress["batchId"])
        if progress["batchId"] <= one.seen or one.assembled.observation not in progress["observedMetrics"]:
            continue
        line = _metrics_line(one, progress)
        if line is None:  # No row came, so nothing broke.
            _account(one, replace(one.exactness, through=max(one.exactness.through, progress["batchId"])))
            continue
        one.seen = progress["batchId"]
        _account(one, one.exactness.then(one.plan, line))
        line |= {"exact": one.exactness.is_exact, "inexact_because": list(inexact_because(one.exactness))}
        one.batches.append(line)
        _observe(one, progress)
        if metrics is not None:
            metrics.write(json.dumps(line, ensure_ascii=False) + "\n")
            metrics.flush()
        if follow is not None:
            follow(one, line)


def _look_at_files(one: Running, batch: int) -> None:
    if one.files is None or batch <= one.looked_at:
        return
    one.looked_at = batch
    if gone := one.files.gone_of(batch):
        _account(one, one.exactness.without_files(batch, list(map(str, gone))))


def _account(one: Running, now: Exactness) -> None:
    one.exactness = now
    if one.checkpoint is not None:
        one.checkpoint.keep_exactness(now)


def _observe(one: Running, progress: Any) -> None:
    """Keep what the samples of a batch show."""
    made = one.plan.rewriting
    new = seen_in(made, one.assembled.observation, progress) if made is not None else None
    if new is None:
        return
    one.observed = (one.observed or Observed()).then(new)
    if one.checkpoint is not None:
        before = read_observed(one.checkpoint.folder)
        write_observed(one.checkpoint.folder, (before or Observed()).then(new))


def _counted(progress: Any, observation: str) -> dict[str, Any]:
    observed = progress["observedMetrics"].get(observation) or {}
    return observed.asDict() if hasattr(observed, "asDict") else dict(observed)


_STANDS = (
    "state_rows",
    "state_tuples",
    "pending_rows",
    "promise_rows",
    "state_bytes",
    "k",
    "used",
    "recall",
    "recall_error",
    "oldest",
    "clock",
    "fullest_cell",
)


def _block_metrics(plan: Plan, observation: str, progress: Any) -> dict[str, Any]:
    """The fields that the cells of one block and its second stage know."""
    known = metrics_of(plan, _counted(progress, observation))
    if (stage := second_stage_of(plan)) is not None:
        known = with_second_stage(stage, known, _counted(progress, second_observation(observation)))
    return known


def _metrics_line(one: Running, progress: Any) -> dict[str, Any] | None:
    observed = _counted(progress, one.assembled.observation)
    if one.plan.rewriting is not None:
        known = metrics_of(one.plan, observed)
        known |= counting_metrics(one.query, one.plan.rewriting, one.assembled.observation, progress, one.clock)
    else:
        known = _block_metrics(one.plan, one.assembled.observation, progress)
        if leaves_out(one.query, one.plan):
            answered = _counted(progress, answer_observation(one.assembled.observation))
            known["rows_out"] = int(answered.get("rows_out") or 0)
        names = one.assembled.observations
        below = {block.query: _block_metrics(block, names[block.query], progress) for block in one.plan.blocks}
        known = with_blocks(one.plan.query, {one.plan.query: known, **below}, shown_names(one.query))
    # A stream that several blocks read is judged in each, and counts once.
    judged = [
        malformed_counts(observation, one.assembled.texts, progress["observedMetrics"])
        for observation in dict.fromkeys((one.assembled.observation, *one.assembled.observations.values()))
    ]
    known["malformed"] = {stream: max(counts[stream] for counts in judged) for stream in one.assembled.texts}
    one.needed = known.get("needed", 0)
    line = metrics_line(
        one.query.name, progress["batchId"], known, progress["durationMs"].get("triggerExecution", 0) / 1000
    )
    watched = [one.assembled.observation, *one.assembled.observations.values()]
    named = dict.fromkeys(name for seen in watched for name in (seen, second_observation(seen)))
    line["times"] = split(progress, (_counted(progress, name) for name in named))
    if all(value is None for value in observed.values()):
        # No row came, so no cell was asked: all stands as it stood.
        if one.batches:
            line |= {field: one.batches[-1][field] for field in _STANDS if field in one.batches[-1]}
        elif progress["batchId"] > 0:
            return None
    return line
