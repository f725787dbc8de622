"""`penstock bench times`: where the time of a batch goes, for each of the shapes of `penstock bench shapes`.

Parts of a batch are those of the metrics, on the clock on the wall; they add up to it. Parts of the cells are told by
watches on them, in seconds of all cells together: of two cores each does about half. With watches, batches take a
little longer than without.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT, run_python
from benchmarks.shapes.data import Size, write
from benchmarks.shapes.shapes import SHAPES
from benchmarks.shapes.topics import source_of

from penstock.errors import DataError
from penstock.spark.batch_times import PARTS
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench times --write-docs -->"
FULL, QUICK = Size(2_400_000, 6), Size(24_000, 4)
MEASURED = ("inner", "left", "windowed", "json", "kafka", "hypercube", "exists", "not-exists")
CELLS = ("unpack", "load", "take_in", "merge_fresh", "join", "promise", "let_go", "finish", "store")
"""What cells do that takes time in a shape, in its order; all else is `rest`."""

Times = Mapping[str, Mapping[str, float]]


def main(arguments: Sequence[str]) -> int:
    """Run all shapes with watches; nothing is judged."""
    given = _parser().parse_args(arguments)
    need_java()
    size = QUICK if given.quick else FULL
    began = time.perf_counter()
    found: dict[str, Times] = {}
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in given.only or MEASURED:
        found[name] = measured(name, size)
        sys.stderr.write(
            f"[{time.perf_counter() - began:6.0f} s] {name}: {found[name]['parts']['batch']:.2f} s a batch\n"
        )
    lines = as_text(size, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    return 0


def measured(name: str, size: Size) -> Times:
    """Where the time of one shape goes."""
    shape = SHAPES[name]
    with TemporaryDirectory(dir=BUILD) as folder:
        home = Path(folder)
        write(home / "data", shape.streams, size, shape.form)
        with source_of(shape, home / "data", home) as source:
            text = shape.script(home / "data", home / "out", size, source.broker)
            (home / "shape.sql").write_text(text, encoding="utf-8")
            jars = [] if source.jars is None else [f"spark.jars={source.jars}"]
            run_python(["-m", "benchmarks.times.run", str(home / "shape.sql"), str(home), *jars], home)
        told = home / "times.json"
        if not told.exists():
            raise DataError(f"{name} did not run", detail=(home / "log").read_text(encoding="utf-8")[-2000:])
        found: Times = json.loads(told.read_text(encoding="utf-8"))
    return found


def as_text(size: Size, found: Mapping[str, Times]) -> list[str]:
    """The figures, line by line."""
    parts = [["shape", "batch", *PARTS]]
    cells = [["shape", *CELLS, "rest"]]
    for name, times in found.items():
        parts.append([name, *(f"{times['parts'].get(part, 0.0):.2f}" for part in ("batch", *PARTS))])
        told = times["cells"]
        rest = sum(seconds for part, seconds in told.items() if part not in CELLS)
        cells.append([name, *(f"{told.get(part, 0.0):.2f}" for part in CELLS), f"{rest:.2f}"])
    heads = ("seconds of a batch, on the wall", "seconds of a batch in all cells together")
    return [str(size), machine(), "", heads[0], *table(parts), "", heads[1], *table(cells)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench times", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--only", action="append", choices=MEASURED, help="a shape; may be repeated")
    parser.add_argument("--json", type=Path, default=BUILD / "times.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
