"""Streams of a steady rate, of which a first batch fills the state and the others are small.

A payment, and a visit, is of an order of the last seconds or of none. So the rows that a longer band lets stand are in
no result: whatever the band, a batch has the same answer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from benchmarks.shapes.data import START, uuids

SECOND = 1_000_000
NEAR = 20
"""Seconds within which a payment or a visit comes after its order."""
DISORDER = SECOND // 2


@dataclass(frozen=True)
class Flow:
    """How many rows come, and of how long a band it is asked how many it lets stand."""

    batch: int = 100_000
    """Rows of a small batch, of all streams together."""
    batches: int = 12
    seconds: int = 60
    """Event time of a small batch."""
    few: int = 20_000
    many: int = 2_000_000
    """Orders that stand."""

    def rate(self, streams: int) -> float:
        """Rows of a stream in a second of event time."""
        return self.batch / streams / self.seconds

    def band(self, standing: int, streams: int) -> int:
        """The seconds of the band that lets about so many orders stand; no result is lost by the shortest."""
        return max(NEAR, round(standing / self.rate(streams)))

    def edges(self, streams: int) -> list[int]:
        """Where the batches begin and end, in seconds: the first fills the state for the longest band."""
        fill = self.band(self.many, streams)
        return [0, *(fill + self.seconds * number for number in range(self.batches + 1))]


def generated(streams: tuple[str, ...], flow: Flow, seed: int = 22) -> dict[str, Any]:
    """The rows of each stream, in the order of their arrival, with `at`, the time of it."""
    random = np.random.default_rng(seed)
    span = flow.edges(len(streams))[-1] * SECOND
    count = int(flow.rate(len(streams)) * span / SECOND)
    times = np.sort(random.integers(0, span, count))
    ids, customers = uuids(random, count), uuids(random, count)
    found = {
        "orders": {
            "id": ids,
            "customer": customers,
            "amount": random.random(count) * 100,
            "kind": random.integers(0, 50, count).astype(np.int32),
            "ts": times,
        }
    }
    near = times + random.integers(0, (NEAR - 1) * SECOND, count)
    is_of_order = pa.array(random.random(count) < 0.7)
    for name, key, own in (("payments", "order_id", ids), ("visits", "customer", customers)):
        strangers = uuids(random, count)
        found[name] = {key: pc.if_else(is_of_order, own, strangers), "ts": near}
    methods = pa.array(["card", "bank", "cash", "voucher"])
    found["payments"] |= {
        "method": methods.take(pa.array(random.integers(0, 4, count))),
        "paid": random.random(count) * 100,
        "fee": random.integers(0, 1000, count).astype(np.int32),
    }
    pages = pa.array([f"/goods/{number}" for number in range(1000)])
    found["visits"] |= {
        "page": pages.take(pa.array(random.integers(0, 1000, count))),
        "device": pa.array(["phone", "desk"]).take(pa.array(random.integers(0, 2, count))),
        "seconds": random.integers(0, 600, count).astype(np.int32),
    }
    return {name: _arrived(random, found[name], span) for name in streams}


def _arrived(random: np.random.Generator, columns: dict[str, Any], span: int) -> Any:
    inside = np.flatnonzero(columns["ts"] < span)
    at = columns["ts"][inside] + random.integers(0, DISORDER, len(inside))
    order = np.argsort(at)
    ts = pa.array(columns["ts"] + START, pa.timestamp("us", "UTC"))
    table = pa.table({**columns, "ts": ts}).take(pa.array(inside[order]))
    return table.append_column("at", pa.array(at[order]))


def write(folder: Path, streams: tuple[str, ...], flow: Flow) -> None:
    """One Parquet file of each stream for each batch."""
    edges = flow.edges(len(streams))
    for name, table in generated(streams, flow).items():
        (folder / name).mkdir(parents=True)
        stops = np.searchsorted(table.column("at").to_numpy(), np.array(edges[1:-1]) * SECOND).tolist()
        rows = table.drop_columns(["at"])
        for number, (start, stop) in enumerate(pairwise([0, *stops, len(rows)])):
            path = folder / name / f"{number:05d}.parquet"
            pq.write_table(rows.slice(start, stop - start), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
