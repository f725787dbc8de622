"""`penstock bench kmon`: KMON's experiments in this engine, each as a plot and as a table beside the paper's words."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kmon.measures import EXPERIMENTS, FULL, PUBLISHED, QUICK, Findings, Size, table_1
from benchmarks.kmon.on_spark import on_spark
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "k-constraints-measured.md"
PICTURES = ROOT / "docs" / "kmon"
MARK = "<!-- figures: penstock bench kmon --write-docs -->"


def main(arguments: Sequence[str]) -> int:
    """Run the experiments; 0 if every answer is right and, at full size, every target is met."""
    given = _parser().parse_args(arguments)
    size = QUICK if given.quick else FULL
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    found = Findings()
    for name in given.only or EXPERIMENTS:
        EXPERIMENTS[name](size, found, say)
    _cost(found)
    if not given.core:
        on_spark(size, found, say)
    lines = as_text(size, found)
    print("\n".join(lines))
    given.plots.mkdir(parents=True, exist_ok=True)
    for name, plot in found.plots.items():
        (given.plots / f"{name}.svg").write_text(plot.svg(), encoding="utf-8")
    say(f"plots are in {given.plots}")
    BUILD.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(as_object(found), indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    missed = size is FULL and not all(target.met for target in found.targets)
    return 1 if found.wrong or missed else 0


def _cost(found: Findings) -> None:
    """Table 1 in the core alone: shown, not judged, for the aim is of the engine, whose core is a tenth of its cost."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["table_1"]
    rows = [["constraint", "k", "µs a row", "SWJ", "ratio", "paper"]]
    for kind, k, with_it, without in table_1(found):
        ratio = with_it / without
        rows.append([kind, f"{k:,}", f"{with_it:.2f}", f"{without:.2f}", f"{ratio:.2f}", published[kind][str(k)]])
    if len(rows) > 1:
        found.tables["Table 1, the core alone"] = rows


def as_text(size: Size, found: Findings) -> list[str]:
    """The figures, line by line."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    lines = [
        f"windows of {size.window:,} rows, multiplicity 5, selectivity 50 %, {size.rows_a_batch:,} rows a batch; "
        f"one cell of the core, processor time; {machine()}"
    ]
    for name, rows in found.tables.items():
        lines += ["", name, *table(rows)]
        numbers = [word.strip(",") for word in name.split() if word.strip(",").isdigit()]
        if name.startswith("Figure"):
            lines += [f"  paper, Figure {n}: {published['figures'][n]}" for n in numbers]
        if name == "Table 3":
            told = ", ".join(f"{q} {v['memory']:.2f} and {v['time']:.2f}" for q, v in published["table_3"].items())
            lines.append(f"  paper, memory and time: {told}")
    judged = "" if size is FULL else " (not judged at this size)"
    lines += ["", f"targets{judged}"]
    for target in found.targets:
        verdict = "pass" if target.met else "FAIL"
        lines.append(f"  {'' if judged else verdict + '  '}{target.what}: {target.found:.4g}, at most {target.most:g}")
    lines += ["", f"wrong answers: {', '.join(found.wrong) or 'none'}"]
    return lines


def as_object(found: Findings) -> dict[str, object]:
    """The figures as JSON."""
    return {
        "machine": machine(),
        "tables": found.tables,
        "targets": [{"what": t.what, "found": t.found, "most": t.most, "met": t.met} for t in found.targets],
        "wrong": found.wrong,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench kmon", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a fiftieth of the size; nothing but the answers is judged"
    )
    parser.add_argument("--core", action="store_true", help="without the run on Spark")
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), help="an experiment; may be repeated")
    parser.add_argument("--plots", type=Path, default=PICTURES, metavar="DIR", help="where the plots go")
    parser.add_argument("--json", type=Path, default=BUILD / "kmon.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into the page of the docs")
    return parser
