"""The same auctions through the core alone, one cell and no Spark: what the join, the promises and the purge cost.

Seconds are of the processor, so that what else the machine does plays no part.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.auctions.data import Auctions, cut, expected, ordered, script
from benchmarks.auctions.measures import SYSTEMS, Run

import penstock
from penstock.compile import plan
from penstock.runtime import Batch, Cell, Chunk, Patience, Punctuating, punctuation_promises


def measure_core(auctions: Auctions, batches: int) -> list[Run]:
    """The runs, one after the other."""
    return [_run(system, auctions, batches, None if how is None else Patience(how)) for system, how in SYSTEMS.items()]


def _run(system: str, auctions: Auctions, batches: int, how: Patience | None) -> Run:
    """All batches through one cell; without punctuations their rows are left out, as the stream's WHERE does."""
    made = plan(penstock.parse(script(Path("/data"), Path("/out"), 1, auctions.wanted, punctuated=how is not None)))
    cell = Cell(made, how or Patience.EAGER)
    pieces = cut(auctions, batches)
    results, seconds = [], []
    for number, (items, given) in enumerate(zip(pieces["items"], pieces["bids"], strict=True)):
        ends = pc.equal(given.column("kind"), "closed")
        bids, told = given.filter(pc.invert(ends)), None
        if how is not None:
            bids, told = given, Punctuating(ends, {n: ends for n, _ in punctuation_promises(made, "bids")})
        passes = {"b": pc.greater(bids.column("price"), auctions.wanted)}
        began = time.process_time()
        chunks = (
            Chunk.of(made, "items", 0, items),
            Chunk.of(made, "bids", 0, bids, passes, punctuating=told),
        )
        results.append(cell.step(Batch(number, chunks)))
        seconds.append(time.process_time() - began)
    rows = pa.concat_tables([result.rows for result in results if result.rows.num_rows])
    answer = ordered(rows.column("i_id").to_numpy(), rows.column("b_price").to_numpy())
    counts = [result.metrics for result in results]
    return Run(
        system,
        tuple(sum(m.rows_in.values()) for m in counts),
        tuple(m.state_rows["i"] for m in counts),
        tuple(m.state_rows["b"] for m in counts),
        tuple(m.promise_rows for m in counts),
        tuple(seconds),
        bool(np.array_equal(answer, expected(auctions))) and not any(m.violations for m in counts),
    )
