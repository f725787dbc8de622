"""`penstock bench scaling`: what is shown, and that cores and cells change no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.scaling.main import CASES, Scaled, all_agree, as_text, main
from benchmarks.shapes.data import Size
from benchmarks.shapes.measures import Spread


def test_rates_are_shown_beside_the_first() -> None:
    one, two, many = Spread(1, 4), Spread(2, 4), Spread(2, 8, 8)
    found = [Scaled("inner", one, 100.0, 2.0, 50, 7), Scaled("inner", two, 180.0, 1.1, 50, 7)]
    shown = as_text(Size(800, 8), found)
    assert shown[-1].split() == ["inner", "2", "4", "2", "180", "1.10", "1.80", "50"]
    assert all_agree(found)
    assert as_text(Size(800, 8), [Scaled("inner", many, 90.0, 2.0, 50, 7)])[-1].split()[:4] == ["inner", "2", "8", "8"]
    assert not all_agree([*found, Scaled("inner", many, 180.0, 1.1, 50, 6)])
    assert not all_agree([Scaled("inner", many, 180.0, 1.1, 50, 0)])


@pytest.mark.thorough
def test_cores_and_cells_change_no_answer(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert main(["--quick", "--json", str(figures)]) == 0
    assert len(json.loads(figures.read_text(encoding="utf-8"))) == 2 * len(CASES)
