"""A stopped query whose script was changed: its state becomes that of the changed one (`runtime/takeover.py`).

As by `rescale`, the driver reads the entries of all cells from Spark's store and writes a file for each beside the
checkpoint, which the cell takes over with its next batch; Spark's store is not touched before. Held in the driver's
memory: the state of one query.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from penstock.runtime.takeover import taken_over
from penstock.spark.cell_commit import COMMIT
from penstock.spark.checkpoint import BlockPlans, Checkpoint, Lines
from penstock.spark.essence import Essence, identity_of
from penstock.spark.failures import SPARK_ERRORS, failure_of
from penstock.spark.hadoop_path import remove_folder
from penstock.spark.rescale import in_order, stores_in, write_dealt


def take_over(
    spark: SparkSession, checkpoint: Checkpoint, now: Essence, lines: Lines, plans: Sequence[BlockPlans]
) -> None:
    """Let a checkpoint be that of the changed query; `Checkpoint.require` has found that nothing stands against it."""
    checkpoint.hold(spark)
    try:
        remove_folder(checkpoint.dealt_anew)
        checkpoint.dealt_anew.mkdir(parents=True, exist_ok=True)
        if checkpoint.has_state:
            _deal(spark, checkpoint, now, plans)
        checkpoint.succeed(now, lines, plans)
    finally:
        checkpoint.release()


def _deal(spark: SparkSession, checkpoint: Checkpoint, now: Essence, plans: Sequence[BlockPlans]) -> None:
    then = checkpoint.plans()
    after = {both.cells.query: both.cells for both in plans}
    identity = identity_of(now)
    try:
        found = stores_in(spark, checkpoint)
    except SPARK_ERRORS as error:
        raise failure_of(checkpoint.query, error, checkpoint.folder) from error
    for (block, stage), stores in found.items():
        cells = in_order(stores)
        if stage == "cell":
            commits = [store.pop(COMMIT) for store in cells]
            made = (taken_over(then[block].cells, after[block], store) for store in cells)
            cells = [{**store, COMMIT: commit} for store, commit in zip(made, commits, strict=True)]
        write_dealt(checkpoint.dealt_anew, (block, stage), cells, identity)
