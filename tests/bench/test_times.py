"""`penstock bench times`: what cells note is added up by batch, and a shape that is watched tells all its parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.shapes.data import Size
from benchmarks.times.main import CELLS, as_text, main
from benchmarks.times.run import cells_together, typical

from penstock.spark.batch_times import PARTS


def test_cells_are_added_up_by_batch_and_the_first_and_the_last_batch_left_out(tmp_path: Path) -> None:
    for cell, seconds in (("1", (9.0, 0.25, 0.5, 0.75, 9.0)), ("2", (9.0, 0.5, 0.5, 0.5, 9.0))):
        lines = [json.dumps({"load": one, "join": 2 * one}) for one in seconds]
        (tmp_path / f"{cell}.phases").write_text("\n".join(lines))
    assert cells_together(tmp_path, "phases") == {"load": 1.0, "join": 2.0}
    assert typical([{"a": 1.0}, {"a": 3.0}, {"a": 8.0}]) == {"a": 3.0}


def test_what_has_no_column_is_shown_as_the_rest() -> None:
    times = {"parts": {"batch": 1.5, "scan": 0.25}, "cells": {"join": 0.5, "evict": 0.25, "rest": 0.125}}
    *_, parts, _, _, heads, cells = as_text(Size(80, 4), {"inner": times})
    assert parts.split() == ["inner", "1.50", *("0.25" if part == "scan" else "0.00" for part in PARTS)]
    assert heads.split() == ["shape", *CELLS, "rest"]
    assert cells.split() == ["inner", *("0.50" if part == "join" else "0.00" for part in CELLS), "0.38"]


@pytest.mark.thorough
def test_a_watched_shape_tells_all_its_parts(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert main(["--quick", "--only", "windowed", "--json", str(figures)]) == 0
    told = json.loads(figures.read_text(encoding="utf-8"))["windowed"]
    assert set(PARTS) <= set(told["parts"])
    assert set(CELLS) <= set(told["cells"])
    assert told["parts"]["batch"] == pytest.approx(sum(told["parts"][part] for part in PARTS), rel=0.5)
