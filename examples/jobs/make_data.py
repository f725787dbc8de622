"""Data for the jobs beside this file: `python make_data.py FOLDER [FILES] [ROWS]`.

Each stream is a folder of Parquet files, one file a batch, whose rows come at most five seconds late. The last file of
each holds one row far in the future, so that all that came before is decided.
"""

from __future__ import annotations

import os
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2024, 5, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
SCHEMAS = {
    "impressions": pa.schema([("ad", pa.int64()), ("campaign", pa.int32()), ("shown", TIME)]),
    "clicks": pa.schema([("ad", pa.int64()), ("user", pa.int32()), ("clicked", TIME)]),
    "orders": pa.schema([("id", pa.int64()), ("amount", pa.int64()), ("ordered", TIME)]),
    "payments": pa.schema([("order_id", pa.int64()), ("paid_amount", pa.int64()), ("paid", TIME)]),
    "shipments": pa.schema([("order_id", pa.int64()), ("carrier", pa.string()), ("shipped", TIME)]),
    "sessions": pa.schema([("session", pa.int64()), ("country", pa.string()), ("began", TIME)]),
    "views": pa.schema([("session", pa.int64()), ("page", pa.string()), ("viewed", TIME)]),
    "changes": pa.schema([("id", pa.int64()), ("version", pa.int32()), ("changed", TIME)]),
    "audits": pa.schema([("id", pa.int64()), ("who", pa.string()), ("audited", TIME)]),
    "readings": pa.schema([("sensor", pa.int64()), ("celsius", pa.int32()), ("read", TIME)]),
    "alarms": pa.schema([("sensor", pa.int64()), ("level", pa.int32()), ("raised", TIME)]),
}


def value(draw: random.Random, name: str, kind: pa.DataType, file: int, keys: int) -> Any:
    """One value of a column."""
    if kind == TIME:
        return START + timedelta(seconds=5 * file + draw.randint(0, 4))
    if kind == pa.string():
        return draw.choice(("north", "south", "east"))
    first = file * keys // 2
    return draw.randint(first, first + keys - 1) if kind == pa.int64() and name != "amount" else draw.randint(1, 9)


def write(folder: Path, files: int = 3, rows: int = 30) -> None:
    """Write all of it: a key stands in about three rows of a file, and in those of the next."""
    keys = max(1, rows // 3)
    for number, (stream, schema) in enumerate(SCHEMAS.items()):
        draw = random.Random(number)
        (folder / stream).mkdir(parents=True, exist_ok=True)
        batches = [
            [{f.name: value(draw, f.name, f.type, file, keys) for f in schema} for _ in range(rows)]
            for file in range(files)
        ]
        last = {f.name: START + timedelta(days=40) if f.type == TIME else None for f in schema}
        for file, batch in enumerate([*batches, [last | {schema[0].name: -1}]]):
            path = folder / stream / f"{file:04d}.parquet"
            pq.write_table(pa.Table.from_pylist(batch, schema=schema), path)
            os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    sensors = [{"id": sensor, "place": f"hall {sensor % 7}"} for sensor in range(keys * (files + 2))]
    (folder / "sensors").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(sensors), folder / "sensors" / "all.parquet")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
