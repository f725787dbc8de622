"""The auctions: state flat with punctuations, growing without, answers equal; and what punctuations cost, on the core.

The core alone, without Spark: `penstock bench auctions` runs the same streams on it. Nexmark's public data lies beside
the repository and never in it; its test skips where it is absent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.auctions.data import WANTED, Auctions, cut, expected, generated, nexmark, ordered, script

import penstock
from penstock.compile import plan
from penstock.runtime import Batch, Cell, Chunk, Punctuating, punctuation_promises
from tests.measure import size

NEXMARK = Path(__file__).parents[3] / "shared" / "data" / "nexmark"


@dataclass
class Seen:
    """What a run of the core gave."""

    answer: Any
    kept: list[int]
    seconds: float


def run(auctions: Auctions, batches: int, *, punctuated: bool) -> Seen:
    """All batches through one cell; without punctuations their rows are left out, as the stream's WHERE does."""
    made = plan(penstock.parse(script(Path("/data"), Path("/out"), 1, punctuated=punctuated)))
    cell = Cell(made)
    rows, kept, seconds = [], [], 0.0
    pieces = cut(auctions, batches)
    for number, (items, given) in enumerate(zip(pieces["items"], pieces["bids"], strict=True)):
        ends = pc.equal(given.column("kind"), "closed")
        bids = given if punctuated else given.filter(pc.invert(ends))
        passes = {"b": pc.greater(bids.column("price"), WANTED)}
        told = None
        if punctuated:
            told = Punctuating(ends, {n: ends for n, _ in punctuation_promises(made, "bids")})
        began = time.perf_counter()
        chunks = (
            Chunk.of(made, "items", 0, items),
            Chunk.of(made, "bids", 0, bids, passes, punctuating=told),
        )
        result = cell.step(Batch(number, chunks))
        seconds += time.perf_counter() - began
        assert result.metrics.violations == {}
        rows.append(result.rows)
        kept.append(sum(result.metrics.state_rows.values()) + result.metrics.promise_rows)
    found = pa.concat_tables([piece for piece in rows if piece.num_rows])
    return Seen(ordered(found.column("i_id").to_numpy(), found.column("b_price").to_numpy()), kept, seconds)


def compared(auctions: Auctions, batches: int) -> tuple[Seen, Seen]:
    """With and without, both with the right answer."""
    both = run(auctions, batches, punctuated=True), run(auctions, batches, punctuated=False)
    for seen in both:
        assert np.array_equal(seen.answer, expected(auctions))
    return both


@pytest.mark.measure
def test_state_is_flat_with_punctuations_and_grows_without_and_they_cost_less_than_the_data() -> None:
    auctions = generated(size(60_000, 1_000_000), 4)
    punctuated, without = compared(auctions, 12)
    assert max(punctuated.kept[8:]) <= 1.1 * max(punctuated.kept[4:8])
    assert without.kept[-1] >= len(auctions.ids)
    assert punctuated.seconds < 2 * without.seconds, "a punctuation for every item costs less than the data"


@pytest.mark.skipif(not NEXMARK.exists(), reason="../shared/data/nexmark is not there")
def test_nexmark_with_true_punctuations() -> None:
    auctions = nexmark(NEXMARK)
    assert (len(auctions.ids), auctions.bids) == (18_000, 276_000)
    punctuated, without = compared(auctions, 12)
    assert max(punctuated.kept) < 0.2 * max(without.kept)
    assert max(punctuated.kept[8:]) <= 1.2 * max(punctuated.kept[4:8])
    assert without.kept[-1] >= 18_000
