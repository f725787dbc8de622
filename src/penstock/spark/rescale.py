"""`penstock rescale`: the state of a stopped query dealt to another number of cells.

The driver reads the entries of all cells from Spark's store, deals them anew (`runtime/redeal.py`), and writes a file
for each new cell beside the checkpoint. Spark's own store is not touched: when the query next runs, each cell finds
state of other cells under its key, or none, and takes over its file in the same transaction as the batch. A batch that
fails takes nothing over; the next one does. Until then the file is what counts, and after it the store.

Held in the driver's memory: the state of one block. What lay in cells that are no more stays in Spark's store, and is
never read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import UsageError
from penstock.runtime.input.grid import Grid
from penstock.runtime.redeal import Store, grid_for, redealt_buckets, redealt_cells, require_dealt
from penstock.runtime.state.store import to_ipc
from penstock.spark.cell_commit import COMMIT, Committed
from penstock.spark.cells import key_of
from penstock.spark.checkpoint import BlockPlans, Checkpoint, Grids, checkpoint_root
from penstock.spark.entry_places import whole_store
from penstock.spark.essence import name_of_cells
from penstock.spark.failures import SPARK_ERRORS, failure_of, quiet_errors
from penstock.spark.hadoop_path import AnyPath, remove_folder
from penstock.spark.session import spark_log, start_session
from penstock.spark.state_reader import entries_of, queries_in
from penstock.spark.stored_processor import dealt_name

_CELL = "cell"
"""The stage of a block that joins."""


@dataclass(frozen=True)
class _Dealing:
    """A query whose state may be dealt."""

    checkpoint: Checkpoint
    plans: Mapping[str, BlockPlans]
    before: Grids
    cells: int
    """How many there may be; how they are dealt is seen from what is stored."""


def rescale(checkpoint: str, cells: int, conf: Mapping[str, str], say: Callable[[str], None]) -> list[str]:
    """Deal the state of all queries of a checkpoint to so many cells, or of none: a sentence each.

    What is waited for is said.
    """
    quiet_errors()
    spark = start_session("penstock", conf)
    root = checkpoint_root(spark, checkpoint)
    asked = [_asked(spark, Checkpoint(root, query), cells, say) for query in queries_in(root)]
    told = [_rescaled(spark, one) for one in asked]
    spark_log().unlink(missing_ok=True)
    return told


def _asked(spark: SparkSession, checkpoint: Checkpoint, cells: int, say: Callable[[str], None]) -> _Dealing:
    """What is to be dealt; raises UsageError or NotSupportedYet where that cannot be."""
    query = checkpoint.query
    checkpoint.wait_for_the_last_run(spark, say)
    plans, before = checkpoint.plans(), checkpoint.cells()
    if checkpoint.is_dealt_anew():
        raise UsageError(
            f"query {query} has had no batch since its state was last dealt anew, by rescale or for a changed script",
            hint="run it once when there is something to read, and rescale it then",
        )
    if plans and (begun := checkpoint.batch_under_way) is not None:
        raise UsageError(
            f"batch {begun} of query {query} is under way: its run was stopped before it had ended",
            hint="run it once, with --available-now, and rescale it then",
        )
    for name, both in plans.items():
        require_dealt(both.cells, (before[name], Grid.dealt(both.cells, cells)))
    return _Dealing(checkpoint, plans, before, cells)


def _rescaled(spark: SparkSession, one: _Dealing) -> str:
    checkpoint, query = one.checkpoint, one.checkpoint.query
    if not one.plans:
        return f"{query}: has no cells, for counts stand for its joins"
    checkpoint.hold(spark)
    try:
        try:
            found = stores_in(spark, checkpoint)
        except SPARK_ERRORS as error:
            raise failure_of(query, error, checkpoint.folder) from error
        grids = {
            name: grid_for(both.cells, one.cells, _without_commits(found.get((name, _CELL), {})))
            for name, both in one.plans.items()
        }
        if grids == dict(one.before):
            return f"{query}: lies in {_many(grids)} already"
        remove_folder(checkpoint.dealt_anew)
        checkpoint.dealt_anew.mkdir(parents=True, exist_ok=True)
        for name, both in one.plans.items():
            for stage, stores in _dealt(both, (one.before[name], grids[name]), found, name):
                identity = Committed.read(stores[0][COMMIT]).identity.partition("/")[0]
                write_dealt(checkpoint.dealt_anew, (name, stage), stores, f"{identity}/{name_of_cells(grids)}")
        checkpoint.deal_anew(grids)
    finally:
        checkpoint.release()
    return f"{query}: dealt to {_many(grids)}; the next run takes it over"


def _without_commits(stores: Mapping[int, Store]) -> list[Store]:
    return [{name: value for name, value in store.items() if name != COMMIT} for store in stores.values()]


def _many(grids: Mapping[str, Grid]) -> str:
    count = next(iter(grids.values())).cells
    keys = sum(len(split.hashes) for grid in grids.values() for split in grid.splits)
    spread = f", {'a key that has' if keys == 1 else f'{keys} keys that have'} much of the state split over them"
    return ("1 cell" if count == 1 else f"{count} cells") + (spread if keys else "")


Stage = tuple[str, str]
"""A block, and which of its stages."""


def stores_in(spark: SparkSession, checkpoint: Checkpoint) -> dict[Stage, dict[int, Store]]:
    """By stage, and by cell's key, what the store holds; cells of an earlier dealing are left out."""
    found: dict[Stage, dict[int, Store]] = {}
    segments = checkpoint.segment_files(spark)
    for entries in entries_of(spark, checkpoint):
        stores: dict[int, Store] = {}
        for row in entries.toLocalIterator():
            stores.setdefault(row["cell"], {})[row["name"]] = bytes(row["value"])
        commits = {key: Committed.read(store[COMMIT]) for key, store in stores.items()}
        for key in Committed.of_last_batch(commits):
            committed = commits[key]
            whole = whole_store(stores[key], committed, segments)
            found.setdefault((committed.block, committed.stage), {})[key] = whole
    return found


def _dealt(
    plans: BlockPlans, grids: tuple[Grid, Grid], found: Mapping[Stage, Mapping[int, Store]], name: str
) -> Iterable[tuple[str, list[Store]]]:
    for stage in (_CELL, "second"):
        stores = found.get((name, stage))
        if not stores:
            continue
        ordered = in_order(stores)
        commits = [store.pop(COMMIT) for store in ordered]
        if stage == _CELL:
            made = redealt_cells(plans.cells, ordered, *grids)
        else:
            assert plans.second is not None
            aggregate = plans.second.aggregate
            groups = None if aggregate is None else aggregate.dealt_by
            made = redealt_buckets(plans.second, ordered, grids[1].cells, groups)
        yield stage, [{**store, COMMIT: commits[0]} for store in made]


def in_order(stores: Mapping[int, Store]) -> list[Store]:
    """By their numbers: the first is as good as any, and the buckets' first has a place of its own."""
    return [stores[key] for key in map(key_of, range(len(stores)))]


def write_dealt(folder: AnyPath, of: Stage, stores: list[Store], identity: str) -> None:
    """Write a file for each cell, which it takes over as one of that identity."""
    for number, store in enumerate(stores):
        before = Committed.read(store[COMMIT])
        tag = uuid.uuid4().hex
        now = Committed(before.number, tag, identity, 0.0, before.block, before.stage, in_store=tag)
        entries: dict[str, Any] = {**store, COMMIT: now.written()}
        # Large, for a segment may be, and pieces of Arrow's binary hold 2 GB at most.
        table = pa.table({"name": list(entries), "value": pa.array(map(bytes, entries.values()), pa.large_binary())})
        (folder / dealt_name(*of, key_of(number))).write_bytes(to_ipc(table))
