"""One shape with watches on its cells, in a process of its own: python -m benchmarks.times.run SHAPE.sql HOME [K=V].

Writes HOME/times.json: by part of a batch its seconds, and by part of what cells do theirs, of all cells together; each
the median over the batches, the first and the last left out.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from unittest.mock import patch

from benchmarks.packets.runs import CORES
from benchmarks.packets.timed import TimedCellProcessor

from penstock import compile as way
from penstock.spark import assembly as engine
from penstock.spark.run import RunOptions, run_script


def main(script: Path, home: Path, settings: Mapping[str, str]) -> None:
    """Run the script with these settings of Spark's, and write where its time went."""
    read = way.parse(script.read_text(encoding="utf-8"))
    (query,) = read.queries
    plan = way.runnable_plan(query, way.check(read), allow_unbounded=False)
    conf = {"spark.master": f"local[{CORES}]", **settings}
    options = RunOptions(checkpoint=str(home / "checkpoint"), available_now=True, conf=conf)
    with patch.object(engine, "CellProcessor", functools.partial(TimedCellProcessor, str(home))):
        (running,) = run_script(read, [(query, plan)], options)
    batches = [line for line in running.batches if sum(line["rows_in"].values())]
    parts = {"batch": median(line["seconds"] for line in batches[1:-1])}
    parts |= typical(line["times"] for line in batches[1:-1])
    # Of the parts of a cell `kernel` is the whole of what its phases take.
    cells = {**cells_together(home, "jsonl"), **cells_together(home, "phases")}
    kernel = cells.pop("kernel")
    cells["rest"] = kernel - sum(cells_together(home, "phases").values())
    (home / "times.json").write_text(json.dumps({"parts": parts, "cells": cells}), encoding="utf-8")


def typical(told: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """By part, the median."""
    found = defaultdict(list)
    for one in told:
        for part, seconds in one.items():
            found[part].append(seconds)
    return {part: median(seconds) for part, seconds in found.items()}


def cells_together(home: Path, ending: str) -> dict[str, float]:
    """By part of what cells noted, its seconds in a batch, of all of them together."""
    noted = [path.read_text(encoding="utf-8").splitlines() for path in sorted(home.glob(f"*.{ending}"))]
    batches = list(zip(*([json.loads(line) for line in lines] for lines in noted), strict=True))
    return typical({part: sum(one[part] for one in cells) for part in cells[0]} for cells in batches[1:-1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), dict(setting.split("=", 1) for setting in sys.argv[3:]))
