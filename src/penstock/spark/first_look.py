"""Keys that are split from a query's first batch on: those that fill a cell by what its files hold as it starts.

The cells of a query are dealt once, when it first starts (`cells.py`). `penstock run` then looks at some rows of two
files of each stream, and splits the keys that would fill a cell (`runtime/input/split_keys.py`, which has the theorem
and says where no key may be split). What was split is kept in the checkpoint and holds over restarts, whatever is
there by then; `penstock rescale` decides anew, by the rows that are stored.

**Not looked at**: streams that are not files, or that a block gives; files of less than LEAST_BYTES together, which
fill no cell; a query that merges rows which it cannot tell apart, for of a hot key it keeps one, and would keep one
in each cell. A DataFrame (`penstock.stream`, `penstock.adopt`) is put together without its checkpoint, and would find
other keys hot when it is started again. Files that cannot be read are told by the query itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.dealing import dealt_columns
from penstock.plan.plan import Plan
from penstock.runtime.input.split_keys import KeyTally, may_be_spread, most_split
from penstock.spark.cells import KeyedGrid
from penstock.spark.essence import CELLS_KEPT, Essence, blocks_of, cells_kept
from penstock.spark.failures import SPARK_ERRORS
from penstock.spark.pack import passes
from penstock.spark.sampled import files_there, is_in_files, rows_of

LEAST_BYTES = 1 << 20
_ROWS = 50_000
"""Of each file that is looked at."""


def with_hot_keys_split(spark: SparkSession, script: Script, plan: Plan, grid: KeyedGrid) -> KeyedGrid:
    """The cells that a query starts with, the keys split that would fill one by what is there."""
    cut = [axis for axis, share in enumerate(grid.shares) if share > 1]
    streams = [script.stream(name) for name in plan.streams]
    known = [stream for stream in streams if stream is not None and is_in_files(stream) and not stream.tables]
    is_merged = any(source.merge is not None for source in plan.sources)
    if not cut or not may_be_spread(plan) or is_merged or len(known) < len(streams):
        return grid
    try:
        files = {stream.name: files_there(spark, stream) for stream in known}
        if sum(one.bytes for one in files.values()) < LEAST_BYTES:
            return grid
        tallies = [KeyTally(plan, axis) for axis in cut]
        for stream in known:
            _tell(spark, plan, stream, files[stream.name].names, tallies)
    except (*SPARK_ERRORS, PenstockError, OSError):
        return grid
    return replace(grid, splits=most_split(tallies, grid.shares))


def tell_splits(queries: Mapping[str, Essence], say: Callable[[str], None]) -> None:
    """Say of which queries, that start for the first time, keys are split."""
    for query, essence in queries.items():
        grids = [cells_kept(one) for one in (essence, *blocks_of(essence)) if CELLS_KEPT in one]
        keys = sum(len(split.hashes) for grid in grids for split in grid.splits)
        spread = "a key that fills a cell is" if keys == 1 else f"{keys} keys that would fill a cell are"
        if keys:
            cells = max(grid.cells for grid in grids)
            say(f"note: {query}: {spread} split over its {cells} cells, by what its files hold now")


def _tell(spark: SparkSession, plan: Plan, stream: Stream, files: Sequence[str], tallies: list[KeyTally]) -> None:
    """Count the keys in two files of a stream, the first and the last: of rows that an alias lets through."""
    own = [source for source in plan.sources if source.stream == stream.name]
    keys = {s.alias: {c for tally in tallies for c in dealt_columns(plan, tally.axis, s.alias)} for s in own}
    passed = [passes(source.alias) for source in own if source.filters]
    wanted = sorted(set().union(*keys.values()))
    ends = sorted({files[0], files[-1]}) if files else []
    if not wanted or not ends:
        return
    rows = rows_of(spark, plan, stream, ends, columns=[*wanted, *passed], count=_ROWS)
    for source in own:
        mine = rows.filter(pc.field(passes(source.alias))) if source.filters else rows
        for tally in tallies:
            names = dealt_columns(plan, tally.axis, source.alias)
            tally.add(source.alias, _with_values(mine, names))


def _with_values(rows: Any, names: list[str]) -> Any:
    """Rows that have a key: others lie in no cell, or match nothing."""
    for name in names:
        rows = rows.filter(pc.is_valid(pc.field(name)))
    return rows
