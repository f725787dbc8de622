"""`penstock bench shapes`: ordinary jobs of several shapes, beside Spark's own plans on its two state stores."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.packets.report import cells_of, figures_in, machine, table, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.shapes.data import Size
from benchmarks.shapes.measures import DEFAULT, PENSTOCK, ROCKSDB, Run, beside, measure
from benchmarks.shapes.shapes import SHAPES, Shape

from penstock.errors import UsageError
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench shapes --write-docs -->"
FULL, SMALL, LARGE = Size(4_000_000, 10), Size(300_000, 30), Size(8_000_000, 5, 24)
QUICK, QUICK_SMALL, QUICK_LARGE = Size(120_000, 4), Size(24_000, 6), Size(240_000, 2, 24)
"""Large batches are of more event time, so that rows leave in those that count."""
LEAST_BATCHES = 2
_AT_MOST = 3
"""Bytes of state and of a batch's checkpoint: at most a third of Spark's."""


def main(arguments: Sequence[str]) -> int:
    """Run the shapes; 0 if all answers agree and, at full size, every aim is reached."""
    given = _parser().parse_args(arguments)
    need_java()
    heap = "2g" if given.quick else "8g"
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = given.keep if given.keep is not None else Path(tempfile.mkdtemp(dir=BUILD))
    found: list[tuple[Size, list[Run]]] = []
    try:
        for name in given.only or SHAPES:
            shape = SHAPES[name]
            size = _size(given, shape)
            # What stands of large batches does not fit the heap that is enough for the others.
            room = "14g" if shape.large and not given.quick else heap
            systems = (PENSTOCK, DEFAULT, *((ROCKSDB,) if _is_beside_rocksdb(given, name) else ()))
            found.append((size, measure(name, size, home / name, systems, heap=room, say=say)))
    finally:
        if given.keep is None:
            shutil.rmtree(home, ignore_errors=True)
    lines = as_text(found)
    print("\n".join(lines))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(as_json(found), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, with_others(found, PAGE), MARK)
    return 1 if not all_agree(found) or (is_full(found) and short(found)) else 0


def is_full(found: Sequence[tuple[Size, Sequence[Run]]]) -> bool:
    """Whether all is of the size that is judged."""
    return all(size in (FULL, SMALL, LARGE) for size, _ in found)


def _is_beside_rocksdb(given: argparse.Namespace, name: str) -> bool:
    if given.quick or given.without_rocksdb:
        return False
    return not given.rocksdb or name in given.rocksdb


def _size(given: argparse.Namespace, shape: Shape) -> Size:
    sizes = (QUICK, QUICK_SMALL, QUICK_LARGE) if given.quick else (FULL, SMALL, LARGE)
    size = sizes[1 if shape.small else 2 if shape.large else 0]
    if not shape.small and (given.rows or given.batches):
        size = Size(given.rows or size.rows, given.batches or size.batches)
    if size.batches < LEAST_BATCHES:
        raise UsageError("of one batch nothing is left to measure: the first is left out")
    return size


def all_agree(found: Sequence[tuple[Size, Sequence[Run]]]) -> bool:
    """Whether every system gave the same rows, and some."""
    return all(run.right and run.rows_out for _, runs in found for run in runs)


def short(found: Sequence[tuple[Size, Sequence[Run]]]) -> list[str]:
    """The shapes that fall short of an aim."""
    return [ours.shape for _, (ours, *others) in found if any(_is_short(ours, other) for other in others)]


def _is_short(ours: Run, other: Run) -> bool:
    times, aim = beside(SHAPES[ours.shape], ours, other)
    return times < aim


def as_text(found: Sequence[tuple[Size, Sequence[Run]]]) -> list[str]:
    """The figures, line by line."""
    sizes = {runs[0].shape: str(size) for size, runs in found}
    return _shown(sizes, _rows(found))


def with_others(found: Sequence[tuple[Size, Sequence[Run]]], page: Path, mark: str = MARK) -> list[str]:
    """The same, and of the shapes that were not run what stands in the page, if it is of this machine and day.

    A shape's systems are always of one run, so its ratios are.
    """
    before = figures_in(page, mark)
    if not is_full(found) or machine() not in before:
        return as_text(found)
    place = before.index(machine())
    told, lines = before[:place], before[place + 1 :]
    size_of = {name: size for line in told for names, size in [line.split(": ")] for name in names.split(", ")}
    rows = {name: [cells_of(line) for line in lines if cells_of(line)[0] == name] for name in SHAPES}
    sizes = {runs[0].shape: str(size) for size, runs in found}
    fresh = _rows(found)
    merged = [
        row for name in SHAPES for row in ([one for one in fresh if one[0] == name] if name in sizes else rows[name])
    ]
    whole = {name: sizes.get(name) or size_of[name] for name in SHAPES if name in sizes or rows[name]}
    return _shown(whole, [row + [""] * (len(_HEAD) - len(row)) for row in merged])


_HEAD = [
    *("shape", "system", "rows/s", "s a batch", "state rows", "state MB", "checkpoint MB a batch", "peak MiB"),
    *("answer", "ours: times", "aim", "state of theirs", "checkpoint of theirs"),
]


def _shown(sizes: Mapping[str, str], rows: Sequence[Sequence[str]]) -> list[str]:
    each = dict.fromkeys(sizes.values())
    told = [f"{', '.join(name for name, size in sizes.items() if size == one)}: {one}" for one in each]
    return [*told, machine(), "", *table([_HEAD, *rows])]


def _rows(found: Sequence[tuple[Size, Sequence[Run]]]) -> list[list[str]]:
    rows: list[list[str]] = []
    for _, (ours, *others) in found:
        for run in (ours, *others):
            row = [run.shape, run.system, f"{run.rate:,.0f}", f"{run.typical:.2f}"]
            row.append(f"{max(batch.state_rows for batch in run.batches):,}")
            row.append(f"{run.most_bytes / 1e6:,.0f}")
            row.append(f"{run.checkpoint_a_batch / 1e6:,.1f}")
            row += [f"{run.watched.peak / 2**20:,.0f}", f"{run.rows_out:,}" if run.right else "ANOTHER"]
            if run is ours:
                rows.append([*row, "", "", "", ""])
                continue
            times, aim = beside(SHAPES[run.shape], ours, run)
            parts = [_part(ours.most_bytes, run.most_bytes), _part(ours.checkpoint_a_batch, run.checkpoint_a_batch)]
            rows.append([*row, f"{times:.2f}", f"{aim:.3g}" + (" SHORT" if times < aim else ""), *parts])
    return rows


def _part(ours: float, theirs: float) -> str:
    return f"1/{theirs / ours:.1f}" + (" SHORT" if theirs < _AT_MOST * ours else "") if ours else "0"


def as_json(found: Sequence[tuple[Size, Sequence[Run]]]) -> str:
    """The same as one object, batch by batch."""
    runs = [
        {
            "shape": run.shape,
            "system": run.system,
            "rows": size.rows,
            "rows_a_second": run.rate,
            "seconds_a_batch": run.typical,
            "right": run.right,
            "peak_bytes": run.watched.peak,
            "checkpoint_bytes": run.checkpoint,
            "batches": [vars(batch) for batch in run.batches],
        }
        for size, every in found
        for run in every
    ]
    return json.dumps({"machine": machine(), "runs": runs}, indent=1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench shapes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size, without RocksDB; only answers are judged")
    parser.add_argument("--only", action="append", choices=list(SHAPES), help="a shape; may be repeated")
    parser.add_argument("--rows", type=int, metavar="N", help="rows of all streams together; shown, not judged")
    parser.add_argument("--batches", type=int, metavar="N", help="in so many batches; shown, not judged")
    parser.add_argument("--without-rocksdb", action="store_true", help="beside Spark's default store alone")
    parser.add_argument("--rocksdb", action="append", choices=list(SHAPES), help="beside RocksDB in these shapes alone")
    parser.add_argument("--json", type=Path, default=BUILD / "shapes.json", metavar="FILE", help="where figures go")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="put the figures into docs/performance.md; with --only, of the same day, those of other shapes stay",
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this folder, and leave it")
    return parser
