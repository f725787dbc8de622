"""Nexmark's three streams, drawn anew: people who open auctions, auctions, and bids, as files cut by event time; and a
table of channels.

    python examples/nexmark/events.py FOLDER [--events 300000] [--files 40] [--seed 1]

Of 50 events one is a person, three are auctions and 46 are bids, as in the benchmark. An event follows every two
milliseconds; an auction lives for 2 to 20 seconds, bids are for auctions of the last seconds, half of them for a few
hot ones, and some rows come up to a second late. The same seed gives the same files, whose modification times rise.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

START = 1_700_000_000_000_000
"""Microseconds since 1970."""
STEP = 2_000
LATEST = 1_000_000
"""How late a row may come, in microseconds."""
FIRST_PERSON, FIRST_AUCTION = 1_000, 1_000
STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CITIES = np.array(
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Kent", "Cheyenne"]
)
CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple", "channel-7", "channel-42", "channel-1009"])
KINDS = np.array(["P", *["A"] * 3, *["B"] * 46])


def nexmark(events: int, seed: int = 1) -> dict[str, Any]:
    """The streams as Arrow tables, in the order in which their rows arrive."""
    draw = np.random.default_rng(seed)
    kinds = KINDS[np.arange(events) % len(KINDS)]
    times = START + STEP * np.arange(events, dtype=np.int64)
    people, auctions, bids = (np.flatnonzero(kinds == kind) for kind in "PAB")
    # How many people and auctions there are before each event.
    known_people = np.maximum(1, np.cumsum(kinds == "P"))
    known_auctions = np.maximum(1, np.cumsum(kinds == "A"))
    person = {
        "id": FIRST_PERSON + np.arange(len(people)),
        "name": _words(draw, "person", len(people), 5_000),
        "email": _words(draw, "mail", len(people), 5_000),
        "city": CITIES[draw.integers(0, len(CITIES), len(people))],
        "state": STATES[draw.integers(0, len(STATES), len(people))],
        "ts": times[people],
    }
    seller = known_people[auctions] - 1 - np.minimum(known_people[auctions] - 1, draw.integers(0, 40, len(auctions)))
    auction = {
        "id": FIRST_AUCTION + np.arange(len(auctions)),
        "item": _words(draw, "item", len(auctions), 2_000),
        "initial_bid": draw.integers(1, 1_000, len(auctions)),
        "reserve": draw.integers(1_000, 10_000, len(auctions)),
        "ts": times[auctions],
        "expires": times[auctions] + 1_000 * draw.integers(2_000, 20_000, len(auctions)),
        "seller": FIRST_PERSON + seller,
        "category": 10 + draw.integers(0, 5, len(auctions)),
    }
    back = np.where(draw.random(len(bids)) < 0.5, draw.integers(0, 20, len(bids)), draw.integers(0, 400, len(bids)))
    which = np.maximum(0, known_auctions[bids] - 1 - back)
    bidder = np.maximum(0, known_people[bids] - 1 - draw.integers(0, 60, len(bids)))
    channel = CHANNELS[draw.integers(0, len(CHANNELS), len(bids))]
    folder = draw.integers(0, 200, len(bids)).astype(str)
    bid = {
        "auction": FIRST_AUCTION + which,
        "bidder": FIRST_PERSON + bidder,
        "price": np.round(10 ** (draw.random(len(bids)) * 6)).astype(np.int64) + 1,
        "channel": channel,
        "url": np.char.add(np.char.add("https://www.example.com/shop/", folder), "/item.htm?query=1&channel_id=77"),
        "ts": times[bids],
    }
    return {name: _late(draw, table) for name, table in (("person", person), ("auction", auction), ("bid", bid))}


def _words(draw: Any, stem: str, count: int, many: int) -> Any:
    return np.char.add(f"{stem} ", draw.integers(0, many, count).astype(str))


def _late(draw: Any, columns: dict[str, Any]) -> Any:
    """The rows in an order in which none comes more than a second after a later one."""
    count = len(columns["ts"])
    arrives = columns["ts"] + np.where(draw.random(count) < 0.1, draw.integers(0, LATEST, count), 0)
    order = np.argsort(arrives, kind="stable")
    table = pa.table({name: values[order] for name, values in columns.items()})
    for name in ("ts", "expires"):
        if name in table.column_names:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).cast(pa.timestamp("us", "UTC")))
    return table


def write(folder: Path, events: int, files: int, seed: int = 1) -> dict[str, Any]:
    """Write the streams, each as so many files that cover the same stretches of time."""
    tables = nexmark(events, seed)
    ends = START + STEP * (np.arange(1, files + 1) * events // files)
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        # A file holds what had arrived by its end; lateness carries a row over into the next one.
        reached = np.maximum.accumulate(table.column("ts").cast(pa.int64()).to_numpy())
        cuts = [0, *np.searchsorted(reached, ends[:-1]), table.num_rows]
        for number in range(files):
            path = folder / name / f"{number:05}.parquet"
            pq.write_table(table.slice(cuts[number], cuts[number + 1] - cuts[number]), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (folder / "channels").mkdir(parents=True, exist_ok=True)
    numbers = pa.table({"channel": CHANNELS[:5], "number": pa.array(range(5), pa.int32())})
    pq.write_table(numbers, folder / "channels" / "channels.parquet")
    return tables


def main() -> None:
    """Write the events, and say how many."""
    parser = argparse.ArgumentParser(description="Nexmark's streams as files")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tables = write(given.folder, given.events, given.files, given.seed)
    for name, table in tables.items():
        spread = pc.min_max(table.column("ts")).as_py()
        sys.stdout.write(
            f"{given.folder / name}: {table.num_rows:,} rows, {spread['min']:%H:%M:%S} to {spread['max']:%H:%M:%S}\n"
        )


if __name__ == "__main__":
    main()
