"""`penstock bench shed`: SHED's Figures 4 to 13 again, the paper's claims beside what is found."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.packets.report import write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.shed import figures, on_spark
from benchmarks.shed.chart import drawn
from benchmarks.shed.figures import FULL, QUICK, Figure, Size
from benchmarks.shed.report import as_json, as_text
from benchmarks.shed.streams import WEATHER

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "offline.md"
PLOTS = ROOT / "docs" / "shed"
MARK = "<!-- figures: penstock bench shed --write-docs -->"
MARK_ON_SPARK = "<!-- figures: penstock bench shed --spark --write-docs -->"
DATA = ROOT.parent / "shared" / "data" / "weather"
OF_WEATHER = (12, 13)
NUMBERS = range(4, 14)


def main(arguments: Sequence[str]) -> int:
    """Run the experiments; 0 if, at full size, every claim holds."""
    given = _parser().parse_args(arguments)
    size = QUICK if given.quick else FULL
    if given.spark:
        found, missing = _on_spark(on_spark.QUICK if given.quick else on_spark.FULL), list[str]()
    else:
        found, missing = _measured(size, given.only or NUMBERS, given.weather)
    lines = as_text(size, found, missing)
    print("\n".join(lines))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(as_json(size, found, missing), encoding="utf-8")
    _draw(found, given.plots)
    if given.write_docs:
        write_docs(PAGE, lines, MARK_ON_SPARK if given.spark else MARK)
        _draw(found, PLOTS)
    met = all(claim.met for figure in found for claim in figure.claims)
    return 0 if met or not size.judged else 1


def _measured(size: Size, chosen: Sequence[int], weather: Path) -> tuple[list[Figure], list[str]]:
    began = time.perf_counter()
    found, missing = list[Figure](), list[str]()
    for number in sorted(set(chosen)):
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] Figure {number}\n")
        experiment: Callable[..., Figure | None] = getattr(figures, f"figure_{number}")
        figure = experiment(size, weather) if number in OF_WEATHER else experiment(size)
        if figure is None:
            missing.append(f"Figure {number} needs {' and '.join(WEATHER)} in {weather} (--weather DIR)")
        else:
            found.append(figure)
    sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] done\n")
    return found, missing


def _on_spark(sizes: Sequence[on_spark.SparkSize]) -> list[Figure]:
    """Run by themselves, since they need a JDK and say nothing about the paper's own figures."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = []
    for size in sizes:
        sys.stderr.write(f"a three-way join on Spark, skew {size.skew:g}\n")
        with tempfile.TemporaryDirectory(dir=BUILD) as home:
            found.append(on_spark.figure_on_spark(size, Path(home)))
    return found


def _draw(found: Sequence[Figure], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for figure in found:
        name = re.sub(r"[^a-z0-9]+", "-", figure.name.lower())
        (folder / f"{name}.svg").write_text(drawn(figure), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench shed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size, some seconds; nothing is judged")
    parser.add_argument("--spark", action="store_true", help="a budget on Spark beside PROB, instead of the figures")
    parser.add_argument(
        "--only", action="append", type=int, choices=NUMBERS, metavar="N", help="a figure, 4 to 13; may be repeated"
    )
    parser.add_argument("--weather", type=Path, default=DATA, metavar="DIR", help="where the weather reports are")
    parser.add_argument("--json", type=Path, default=BUILD / "shed.json", metavar="FILE", help="where figures go")
    parser.add_argument("--plots", type=Path, default=BUILD / "shed", metavar="DIR", help="where plots go, as SVG")
    parser.add_argument("--write-docs", action="store_true", help="put figures and plots into docs/offline.md")
    return parser
