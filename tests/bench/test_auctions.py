"""The auctions: state flat with punctuations, growing without, answers equal; and what punctuations cost, on the core.

The core alone, without Spark: `penstock bench auctions` runs the same streams on it. Nexmark's public data lies beside
the repository and never in it; its test skips where it is absent.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.auctions.core import measure_core
from benchmarks.auctions.data import generated, nexmark
from benchmarks.auctions.main import as_text, cost

from tests.measure import FULL, size

NEXMARK = Path(__file__).parents[3] / "shared" / "data" / "nexmark"


@pytest.mark.measure
def test_state_is_flat_with_punctuations_and_grows_without_and_they_cost_less_than_the_data() -> None:
    auctions = generated(size(60_000, 1_000_000), 4)
    eager, lazy, without = runs = measure_core(auctions, 12)
    assert all(run.right for run in runs), as_text(auctions, runs)
    assert eager.growth <= 1.1
    assert max(lazy.kept) < max(without.kept) / 2
    assert without.kept[-1] >= len(auctions.ids)
    # Seconds are judged at full size alone: small, they are of whatever else the machine does.
    assert not FULL or cost(runs) < 1, "a punctuation for every item costs less than the data that it comes with"


@pytest.mark.skipif(not NEXMARK.exists(), reason="../shared/data/nexmark is not there")
def test_nexmark_with_true_punctuations() -> None:
    auctions = nexmark(NEXMARK)
    assert (len(auctions.ids), auctions.bids) == (18_000, 276_000)
    eager, _, without = runs = measure_core(auctions, 12)
    assert all(run.right for run in runs), as_text(auctions, runs)
    assert max(eager.kept) < 0.2 * max(without.kept)
    assert eager.growth <= 1.2
    assert without.kept[-1] >= 18_000
