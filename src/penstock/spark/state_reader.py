"""`penstock state`: what a checkpoint keeps, read from Spark's own store; nothing of it is changed.

Spark reads state as a table: an entry a row, by cell. Each cell is put together on an executor, as a batch would, and
looked at there (`runtime/kept.py`); only what was found comes to the driver. Which block and which stage a cell is of
stands in its commit. Cells of an earlier dealing lie there too, and are left out; state that was dealt anew and that no
batch has taken over yet lies in files, and is read from these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DataError, UsageError
from penstock.plan.plan import Plan
from penstock.runtime import Cell
from penstock.runtime.kept import KeptRow, KeptStream, kept_in, together
from penstock.runtime.state.store import COLD, from_ipc
from penstock.spark.cell_commit import COMMIT, Committed
from penstock.spark.checkpoint import Checkpoint, checkpoint_root
from penstock.spark.entry_places import whole_store
from penstock.spark.failures import SPARK_ERRORS, failure_of, quiet_errors
from penstock.spark.hadoop_path import AnyPath
from penstock.spark.segment_files import SegmentFiles
from penstock.spark.session import spark_log, start_session

_FOUND = "block STRING, stage STRING, batches BIGINT, bytes BIGINT, told STRING"


@dataclass(frozen=True)
class KeptBlock:
    """What one block of a query keeps."""

    plan: Plan
    cells: int
    batches: int
    bytes: int
    streams: tuple[KeptStream, ...]
    second_stage: int | None
    """The bytes of what DISTINCT or GROUP BY remembers; None if there is none."""


def state_of(checkpoint: str, most: int, conf: Mapping[str, str]) -> dict[str, list[KeptBlock]]:
    """By query, what a checkpoint keeps, in a session of its own."""
    quiet_errors()
    spark = start_session("penstock", conf)
    root = checkpoint_root(spark, checkpoint)
    found = {query: read_state(spark, root, query, most) for query in queries_in(root)}
    spark_log().unlink(missing_ok=True)
    return found


def as_json(found: Mapping[str, Iterable[KeptBlock]]) -> dict[str, Any]:
    """The same as plain values."""
    return {
        query: [
            {**{name: value for name, value in asdict(block).items() if name != "plan"}, "block": block.plan.query}
            for block in blocks
        ]
        for query, blocks in found.items()
    }


def queries_in(root: AnyPath) -> list[str]:
    """The queries that have a checkpoint below a folder."""
    found = sorted(one.name for one in root.iterdir() if (one / "plan.json").exists()) if root.is_dir() else []
    if not found:
        raise UsageError(f"{root} holds no checkpoint", hint="name the folder that `run --checkpoint` was given")
    return found


def read_state(spark: SparkSession, root: AnyPath, query: str, most: int) -> list[KeptBlock]:
    """What the blocks of a query keep, the one on top first, with at most so many rows of each stream."""
    checkpoint = Checkpoint(root, query)
    plans = {name: both.cells for name, both in checkpoint.plans().items()}
    if not plans:
        return []
    texts = {name: plan.to_json() for name, plan in plans.items()}
    looking = _Looking(texts, most, checkpoint.segment_files(spark))

    def look(cell: Any) -> Any:
        # Spark counts the arguments of a function, and takes an object that can be called for one of two.
        return looking(cell)

    try:
        if checkpoint.awaits_takeover:
            found = [look(from_ipc(file.read_bytes())).to_pylist()[0] for file in checkpoint.dealt_anew.iterdir()]
        else:
            found = [
                row
                for entries in entries_of(spark, checkpoint)
                for row in _of_last_batch(entries).groupBy("cell").applyInArrow(look, _FOUND).collect()
            ]
    except SPARK_ERRORS as error:
        raise failure_of(query, error, checkpoint.folder) from error
    return [_block(plan, found, most) for plan in plans.values()]


def entries_of(spark: SparkSession, checkpoint: Checkpoint) -> list[DataFrame]:
    """The entries of all cells, (cell, name, value), of each stage of each block; none of what needs no state."""
    if not checkpoint.has_store:
        return []
    path = str(checkpoint.spark)
    known = spark.read.format("state-metadata").load(path).select("operatorId").distinct().collect()
    found = []
    for operator in sorted(row[0] for row in known):
        reader = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", "entries")
        table = reader.load(path)
        found.append(table.selectExpr("key.*", "user_map_key.*", "user_map_value.*").toDF("cell", "name", "value"))
    return found


def _of_last_batch(entries: DataFrame) -> DataFrame:
    """The entries without those of cells that are no more, whose files may be gone."""
    commits = {row["cell"]: Committed.read(row["value"]) for row in entries.where(entries.name == COMMIT).collect()}
    gone = commits.keys() - Committed.of_last_batch(commits)
    return entries.where(~entries.cell.isin(*gone)) if gone else entries


def _block(plan: Plan, found: Iterable[Any], most: int) -> KeptBlock:
    own = [row for row in found if row["block"] == plan.query]
    cells = [row for row in own if row["stage"] == "cell"]
    later = [row["bytes"] for row in own if row["stage"] != "cell"]
    told = [[_kept(one) for one in json.loads(row["told"])] for row in cells]
    streams = [
        together([kept for cell in told for kept in cell if kept.alias == a], most) for a in plan.aliases if told
    ]
    return KeptBlock(
        plan,
        len(cells),
        max((row["batches"] for row in cells), default=0),
        sum(row["bytes"] for row in own),
        tuple(streams),
        sum(later) if later else None,
    )


def _kept(told: dict[str, Any]) -> KeptStream:
    rows = tuple(KeptRow(row["values"], row["batch"], tuple(row["waits_for"])) for row in told.pop("oldest"))
    return KeptStream(**told, oldest=rows)


@dataclass(frozen=True)
class _Looking:
    """Puts a cell together and looks at it, for applyInArrow."""

    plans: dict[str, str]
    most: int
    segments: SegmentFiles

    def __call__(self, table: Any) -> Any:
        entries = dict(zip(table.column("name").to_pylist(), table.column("value").to_pylist(), strict=True))
        commit = entries.pop(COMMIT, None)
        if commit is None:
            raise DataError("a cell of the checkpoint has no commit", hint="it is damaged")
        committed = Committed.read(commit)
        entries = whole_store(entries, committed, self.segments)
        told: list[Any] = []
        if committed.stage == "cell":
            warm = {name: value for name, value in entries.items() if not name.startswith(COLD)}
            cell = Cell.restore(Plan.from_json(self.plans[committed.block]), warm)
            told = [asdict(kept) for kept in kept_in(cell, self.most)]
        size = sum(map(len, entries.values()))
        row = [committed.block, committed.stage, committed.number + 1, size, json.dumps(told)]
        return pa.table([pa.array([value]) for value in row], names=["block", "stage", "batches", "bytes", "told"])
