"""Left-outer and anti-joins on the core cost at most 1.5 times the inner join of the same streams, in flat state.

Small, the answers and the state are held; seconds are judged at full size, alone on the machine.
"""

from __future__ import annotations

import pytest
from benchmarks.outer.data import generated
from benchmarks.outer.main import AIM, FLAT, as_text, ratios
from benchmarks.outer.measures import measure_core

from tests.measure import FULL, size


@pytest.mark.measure
def test_left_outer_and_anti_joins_cost_little_more_than_the_inner_join_in_flat_state() -> None:
    data = generated(size(100_000, 10_000_000))
    runs = measure_core(data, 12)
    assert all(run.right for run in runs), as_text(data, runs)
    assert max(run.growth for run in runs) <= FLAT, as_text(data, runs)
    assert not FULL or max(ratios(runs)) <= AIM, as_text(data, runs)
