"""`penstock bench long`: what is early, what is late, and what counts as grown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.long.main import FILLING, FULL, Grown, as_text, main, measured
from benchmarks.packets.growth import Growth, of_memory, over_batches
from benchmarks.packets.memory import Sample, Watched
from benchmarks.packets.runs import BatchFigures
from benchmarks.shapes.measures import PENSTOCK, Run


def batch(seconds: float, state: int) -> BatchFigures:
    return BatchFigures(rows=100, seconds=seconds, state_rows=state, promise_rows=0, state_bytes=state * 1_000_000)


def watched(seconds: int, python: float) -> Watched:
    """Java flat at a hundred MiB, python growing by so many a second."""
    return Watched(
        seconds, tuple(Sample(at, {"java": 100 << 20, "python": int(at * python) << 20}) for at in range(seconds))
    )


def test_the_middle_third_is_laid_beside_the_last() -> None:
    memory = of_memory(watched(92, 10.0), 90)
    assert memory["java"] == Growth(100, 100, 1.1)
    assert memory["python"].times == pytest.approx(75 / 45, rel=0.05)
    assert not memory["python"].is_flat


def test_what_was_nothing_and_is_something_has_grown() -> None:
    assert not Growth(0, 1).is_flat
    assert Growth(0, 0).is_flat
    assert over_batches([batch(1, 5), batch(3, 5), batch(9, 5), batch(9, 7)], lambda one: one.seconds) == Growth(2, 9)


def test_batches_that_fill_the_state_and_the_one_that_settles_it_do_not_count() -> None:
    filling, last = [batch(9.0, 1)] * FILLING, batch(9.0, 0)
    steady = [batch(1.0, 50)] * 20 + [batch(1.1, 80)] * 20
    run = Run("inner", PENSTOCK, (*filling, *steady, last), watched(44, 0.0), 7, 0, right=True)
    found = measured(run)
    assert found.figures["s a batch"] == Growth(1.0, 1.1)
    assert found.figures["rows kept"] == Growth(50, 80)
    shown = as_text(FULL, [found])
    assert [line.split()[-1] for line in shown if line.lstrip().startswith("inner")] == [
        *("1.25", "GROWN", "GROWN", "1.1", "1.1")
    ]
    assert as_text(FULL, [Grown("inner", 7, {"rows kept": Growth(50, 60)})])[-1].split()[-2:] == ["1.20", "1.25"]


@pytest.mark.thorough
def test_a_long_stream_has_an_answer(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert main(["--quick", "--only", "left", "--json", str(figures)]) == 0
    (told,) = json.loads(figures.read_text(encoding="utf-8"))
    assert told["rows_out"] > 0
    assert told["figures"]["rows kept"]["late"] > 0
