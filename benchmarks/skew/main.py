"""`penstock bench skew`: how evenly cells share the rows of a query, and how often rows are copied. Without Spark.

The rows of each stream are dealt by the router of the engine (`runtime/input/routing.py`) to 4, 8 and 16 cells. What a
batch takes is what its fullest cell takes: so beside the copies it is told how many times the mean that cell holds.
Each twice: as a query starts, which knows nothing of its keys, and after `penstock rescale`, which splits those that
have much of what is stored (`runtime/input/split_keys.py`). A tenth of the rows is what it sees; the others are dealt.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT

import penstock
from penstock.compile import plan
from penstock.plan.plan import Plan
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.routing import route
from penstock.runtime.input.split_keys import KeyTally, most_split

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench skew --write-docs -->"
CELLS = (4, 8, 16)
AIM = 2.0
"""At most so many times the mean in the fullest of 16 cells."""

Tables = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A query, and rows of its streams."""

    name: str
    script: str
    rows: Callable[[np.random.Generator, int], Tables]


@dataclass(frozen=True)
class Dealt:
    """How the rows of a case were dealt."""

    case: str
    is_split: bool
    """Whether hot keys are split."""
    cells: int
    rows: int
    sent: int
    """Copies included."""
    fullest: int

    @property
    def copies(self) -> float:
        """How often a row is sent."""
        return self.sent / self.rows

    @property
    def skew(self) -> float:
        """The fullest cell beside the mean."""
        return self.fullest * self.cells / self.sent


_CLOCK = "ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE"
_NEAR = "BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
PAIR = f"""CREATE STREAM a (k BIGINT, {_CLOCK}); CREATE STREAM b (k BIGINT, {_CLOCK});
SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts {_NEAR};"""
FLOWS = f"""CREATE STREAM a (host BIGINT, port BIGINT, {_CLOCK}); CREATE STREAM b (host BIGINT, port BIGINT, {_CLOCK});
SELECT a.host FROM a JOIN b ON a.port = b.port AND a.host = b.host AND b.ts {_NEAR};"""
THREE = f"""CREATE STREAM a (x BIGINT, y BIGINT, {_CLOCK}); CREATE STREAM b (x BIGINT, {_CLOCK});
CREATE STREAM c (y BIGINT, {_CLOCK});
SELECT a.x FROM a JOIN b ON a.x = b.x AND b.ts {_NEAR} JOIN c ON a.y = c.y AND c.ts {_NEAR};"""


def _table(**columns: Any) -> Any:
    size = len(next(iter(columns.values())))
    return pa.table({**columns, "ts": pa.array(np.arange(size), pa.timestamp("us", "UTC"))})


def _spread(random: np.random.Generator, rows: int) -> Any:
    return random.integers(-(2**62), 2**62, rows)


def _half_in_one(random: np.random.Generator, rows: int, part: float = 0.5) -> Any:
    return np.where(random.random(rows) < part, 7, _spread(random, rows))


CASES = (
    Case("keys of their own", PAIR, lambda r, n: {"a": _table(k=_spread(r, n)), "b": _table(k=_spread(r, n))}),
    Case(
        "Zipf(1.2) keys in one stream", PAIR, lambda r, n: {"a": _table(k=_spread(r, n)), "b": _table(k=r.zipf(1.2, n))}
    ),
    Case(
        "one key with half of a stream",
        PAIR,
        lambda r, n: {"a": _table(k=_half_in_one(r, n, 0.001)), "b": _table(k=_half_in_one(r, n))},
    ),
    Case(
        "Zipf(1.2) keys in both streams",
        PAIR,
        lambda r, n: {"a": _table(k=r.zipf(1.2, n)), "b": _table(k=r.zipf(1.2, n))},
    ),
    Case(
        "one key with half of both streams",
        PAIR,
        lambda r, n: {"a": _table(k=_half_in_one(r, n)), "b": _table(k=_half_in_one(r, n))},
    ),
    Case(
        "two columns, half of one the same",
        FLOWS,
        lambda r, n: {name: _table(host=_spread(r, n), port=_half_in_one(r, n)) for name in "ab"},
    ),
    Case(
        "two columns, both Zipf(1.2)",
        FLOWS,
        lambda r, n: {name: _table(host=r.zipf(1.2, n), port=r.zipf(1.2, n)) for name in "ab"},
    ),
    Case(
        "three streams, two keys",
        THREE,
        lambda r, n: {
            "a": _table(x=_spread(r, n), y=_spread(r, n)),
            "b": _table(x=_spread(r, n)),
            "c": _table(y=_spread(r, n)),
        },
    ),
)


def dealt(case: Case, cells: int, rows: int, *, is_split: bool, seed: int = 12) -> Dealt:
    """The rows of a case, so many of each stream, dealt to cells."""
    made = plan(penstock.parse(case.script))
    grid = Grid.of(made, cells)
    held = np.zeros(grid.cells, np.int64)
    random = np.random.default_rng(seed)
    if is_split:
        grid = split(made, grid, case.rows(random, rows // 10))
    given = case.rows(random, rows)
    for stream, data in given.items():
        routed = route(made, grid, stream, data, passes={}, punctuations={})
        for shares in routed.rows.values():
            for cell, share in shares:
                held[cell] += share.num_rows
    return Dealt(
        case.name, is_split, grid.cells, sum(data.num_rows for data in given.values()), int(held.sum()), int(held.max())
    )


def split(made: Plan, grid: Grid, seen: Tables) -> Grid:
    """The grid as `penstock rescale` would have it, where these rows are stored."""
    tallies = [KeyTally(made, axis) for axis, share in enumerate(grid.shares) if share > 1]
    for tally in tallies:
        for stream, data in seen.items():
            tally.add(stream, data)
    return replace(grid, splits=most_split(tallies, grid.shares))


def main(arguments: Sequence[str]) -> int:
    """Deal the rows of all cases; 0 if every one reaches the aim once its hot keys are split."""
    given = _parser().parse_args(arguments)
    found = [
        dealt(case, cells, given.rows, is_split=is_split)
        for case in CASES
        for is_split in (False, True)
        for cells in CELLS
    ]
    lines = as_text(given.rows, found)
    sys.stdout.write("\n".join(lines) + "\n")
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    return 1 if short(found) else 0


def short(found: Sequence[Dealt]) -> list[str]:
    """The cases whose fullest cell holds too much though hot keys are split."""
    return [one.case for one in found if one.is_split and one.skew > AIM]


def as_text(rows: int, found: Sequence[Dealt]) -> list[str]:
    """The figures, line by line."""
    lines = [["streams", "hot keys", "cells", "sent of a row", "fullest cell, times the mean", "aim"]]
    for one in found:
        aim = "" if not one.is_split else f"{AIM:g} SHORT" if one.skew > AIM else f"{AIM:g}"
        keys = "split" if one.is_split else "together"
        lines.append([one.case, keys, str(one.cells), f"{one.copies:.2f}", f"{one.skew:.2f}", aim])
    return [f"{rows:,} rows of each stream", machine(), "", *table(lines)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench skew", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N", help="rows of each stream")
    parser.add_argument("--json", type=Path, default=BUILD / "skew.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
