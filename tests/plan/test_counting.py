"""What a run of counts has measured: added up, written and read back."""

from __future__ import annotations

from pathlib import Path

from penstock.plan.counting import Observed, read_observed, write_observed


def test_the_largest_errors_and_the_sums_of_windows_are_kept() -> None:
    first, second = Observed(3, 0.1, 0.2, 1, 0.3, 0), Observed(2, 0.4, 0.1, 0, 0.1, 5)
    assert first.then(second) == Observed(5, 0.4, 0.2, 1, 0.3, 5)
    assert first.then(second) == second.then(first)
    assert first.then(Observed()) == first


def test_what_is_written_is_read_back_and_nothing_is_none(tmp_path: Path) -> None:
    assert read_observed(tmp_path) is None
    write_observed(tmp_path, Observed(3, 0.125, 0.25, 1, 0.5, 2))
    assert read_observed(tmp_path) == Observed(3, 0.125, 0.25, 1, 0.5, 2)
