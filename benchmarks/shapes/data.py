"""Orders, payments and visits, keyed by UUID strings, in files cut by event time: what ordinary jobs join.

Seven of ten payments are of an order, most of them within the hour that counts; the others name an order that never
came. A customer has four orders or so, and visits as often. Rows are out of order by half a minute at most. A last
batch of one row a file lies ten hours later: it settles all rows before it, on every side.
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
from benchmarks.packets.sizes import FILES_A_BATCH

COLUMNS = {
    "orders": {"id": "STRING", "customer": "STRING", "amount": "DOUBLE", "kind": "INT", "ts": "TIMESTAMP"},
    "payments": {"order_id": "STRING", "method": "STRING", "paid": "DOUBLE", "fee": "INT", "ts": "TIMESTAMP"},
    "visits": {"customer": "STRING", "page": "STRING", "device": "STRING", "seconds": "INT", "ts": "TIMESTAMP"},
}
"""The streams and their columns, as Spark writes types."""
MINUTE = 60_000_000
BATCH_MINUTES = 12
"""Event time of a batch: five batches stand in the hour of the join."""
DISORDER = MINUTE // 2
START = 1_700_000_000_000_000
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)


@dataclass(frozen=True)
class Size:
    """How many rows of all streams of a shape together, in how many batches, of how much event time each.

    Payments that would come after the end are left out, so that there are some fewer.
    """

    rows: int
    batches: int
    minutes: int = BATCH_MINUTES

    def __str__(self) -> str:
        shown = f"up to {self.rows:,} rows in {self.batches} batches of {self.rows // self.batches:,}"
        return f"{shown}, {self.minutes} minutes each"

    @property
    def span(self) -> int:
        """The event time of all batches, in microseconds."""
        return self.batches * self.minutes * MINUTE


def generated(streams: tuple[str, ...], size: Size, seed: int = 22) -> dict[str, Any]:
    """The rows of each stream, in the order of their arrival, with `at`, the time of it."""
    random = np.random.default_rng(seed)
    count, span = size.rows // len(streams), size.span
    ids = uuids(random, count)
    times = random.integers(0, span, count)
    customers = uuids(random, max(1, count // 4))
    found = {
        "orders": {
            "id": ids,
            "customer": customers.take(pa.array(random.integers(0, len(customers), count))),
            "amount": random.random(count) * 100,
            "kind": random.integers(0, 50, count).astype(np.int32),
            "ts": times,
        }
    }
    paid = random.permutation(count)[: count * 7 // 10]
    others = count - len(paid)
    found["payments"] = {
        "order_id": pa.concat_arrays([ids.take(pa.array(paid)), uuids(random, others)]),
        "method": pa.array(["card", "bank", "cash", "voucher"]).take(pa.array(random.integers(0, 4, count))),
        "paid": random.random(count) * 100,
        "fee": random.integers(0, 1000, count).astype(np.int32),
        "ts": np.concatenate(
            [times[paid] + random.integers(0, 70 * MINUTE, len(paid)), random.integers(0, span, others)]
        ),
    }
    found["visits"] = {
        "customer": customers.take(pa.array(random.integers(0, len(customers), count))),
        "page": pa.array([f"/goods/{number}" for number in range(1000)]).take(
            pa.array(random.integers(0, 1000, count))
        ),
        "device": pa.array(["phone", "desk", "tablet"]).take(pa.array(random.integers(0, 3, count))),
        "seconds": random.integers(0, 600, count).astype(np.int32),
        "ts": random.integers(0, span, count),
    }
    tables = {}
    for name in streams:
        columns = found[name]
        inside = np.flatnonzero(columns["ts"] < span)
        arrival = columns["ts"][inside] + random.integers(0, DISORDER, len(inside))
        order = np.argsort(arrival)
        ts = pa.array(columns["ts"] + START, pa.timestamp("us", "UTC"))
        table = pa.table({**columns, "ts": ts}).take(pa.array(inside[order]))
        tables[name] = table.append_column("at", pa.array(arrival[order]))
    return tables


def uuids(random: np.random.Generator, count: int) -> Any:
    """So many random ones, as text."""
    digits = random.integers(0, 256, (count, 16), dtype=np.uint8)
    text = np.full((count, 36), ord("-"), np.uint8)
    places = [place for place in range(36) if place not in _DASHES]
    text[:, places] = _HEX[np.stack([digits >> 4, digits & 15], axis=2).reshape(count, 32)]
    ends = pa.array(np.arange(0, 36 * (count + 1), 36, dtype=np.int32)).buffers()[1]
    return pa.StringArray.from_buffers(count, ends, pa.py_buffer(text.tobytes()))


def write(folder: Path, streams: tuple[str, ...], size: Size, form: str) -> None:
    """The files of each stream, FILES_A_BATCH a batch, as Parquet or as lines of JSON; those also for topics."""
    form = "json" if form == "kafka" else form
    edges = np.linspace(0, size.span, size.batches * FILES_A_BATCH + 1)[1:-1]
    for name, table in generated(streams, size).items():
        (folder / name).mkdir(parents=True)
        at = table.column("at").to_numpy()
        rows = table.drop_columns(["at"])
        stops = [0, *np.searchsorted(at, edges).tolist(), len(at)]
        pieces = [rows.slice(start, stop - start) for start, stop in pairwise(stops)]
        late = pa.array([START + size.span + 600 * MINUTE], pa.timestamp("us", "UTC"))
        last = rows.slice(0, 1).set_column(rows.num_columns - 1, "ts", late)
        last = last.set_column(0, last.column_names[0], pa.array([f"the last of {name}"]))
        for number, piece in enumerate([*pieces, *[last] * FILES_A_BATCH]):
            path = folder / name / f"{number:05d}.{form}"
            _write_one(path, piece, form)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _write_one(path: Path, rows: Any, form: str) -> None:
    if form == "parquet":
        pq.write_table(rows, path)
        return
    fields = []
    for name in rows.column_names:
        column = rows.column(name)
        kind = column.type
        text = pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ") if pa.types.is_timestamp(kind) else column.cast(pa.string())
        quote = '"' if pa.types.is_timestamp(kind) or pa.types.is_string(kind) else ""
        fields.append(pc.binary_join_element_wise(f'"{name}":{quote}', text, quote, ""))
    lines = pc.binary_join_element_wise("{", pc.binary_join_element_wise(*fields, ","), "}\n", "")
    path.write_text("".join(lines.to_pylist()), encoding="utf-8")
