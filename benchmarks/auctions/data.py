"""The auctions: items and bids as parquet files, cut by event time; after an item's last bid comes its punctuation.

The generator is the project's own. Nexmark's public stream can be read in its place: there the punctuations are made
from the data, one right after the last bid of each auction, since its own expiry times are not kept.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

ITEMS_A_SECOND = 1_000
LIFE_SECONDS = 10
DEAREST = 1_000
WANTED = 100
"""Bids above it are in the answer, unless told otherwise."""


@dataclass(frozen=True)
class Auctions:
    """Both streams in the order of their times (seconds): ids; and items bid for, prices, whether it is the end."""

    item_times: Any
    ids: Any
    bid_times: Any
    items: Any
    prices: Any
    ends: Any
    wanted: int = WANTED

    @property
    def punctuations(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.ends))

    @property
    def bids(self) -> int:
        """How many bids there are."""
        return len(self.ends) - self.punctuations


def generated(items: int, bids_an_item: int, seed: int = 5) -> Auctions:
    """Items that open at a steady rate and live for some seconds each; a bid may come a little before its item."""
    random = np.random.default_rng(seed)
    opens = np.sort(random.uniform(0, items / ITEMS_A_SECOND, items))
    ids = random.integers(-(2**63), 2**63, items)
    closes = opens + random.uniform(1, 2 * LIFE_SECONDS, items)
    counts = random.poisson(bids_an_item, items)
    which = np.repeat(np.arange(items), counts)
    at = opens[which] - 0.1 + random.uniform(0, 1, len(which)) * (closes - opens + 0.1)[which]
    prices = random.integers(1, DEAREST + 1, len(which))
    return _ended((opens, ids), (at, ids[which], prices), (closes, ids))


def _ended(items: tuple[Any, Any], bids: tuple[Any, Any, Any], closes: tuple[Any, Any]) -> Auctions:
    """The streams, with the end of each item after the bids that it shares its time with."""
    at, bid_for, prices = bids
    times = np.concatenate([at, closes[0]])
    ends = np.concatenate([np.zeros(len(at), np.bool_), np.ones(len(closes[0]), np.bool_)])
    order = np.lexsort((ends, times))
    every = np.concatenate([bid_for, closes[1]])
    paid = np.concatenate([prices, np.zeros(len(closes[0]), np.int64)])
    return Auctions(*items, times[order], every[order], paid[order], ends[order])


def nexmark(folder: Path) -> Auctions:
    """The public Nexmark stream, in the order of `seq`, with a true punctuation after the last bid of each auction."""
    auction, bid = (_read(folder / f"{name}.csv.gz") for name in ("auction", "bid"))
    at = bid["seq"].astype(np.float64) / ITEMS_A_SECOND
    closing, first_from_behind = np.unique(bid["auction"][::-1], return_index=True)
    last = at[len(at) - 1 - first_from_behind]
    prices = bid["price"] % DEAREST + 1
    opens = auction["seq"].astype(np.float64) / ITEMS_A_SECOND
    return _ended((opens, auction["id"]), (at, bid["auction"], prices), (last, closing))


def _read(path: Path) -> dict[str, Any]:
    with gzip.open(path) as file:
        read = csv.read_csv(file)
    return {name: read.column(name).to_numpy() for name in read.column_names if pa.types.is_integer(read[name].type)}


def write(folder: Path, auctions: Auctions, files: int) -> None:
    """Both streams, in so many files each."""
    for name, pieces in cut(auctions, files).items():
        (folder / name).mkdir(parents=True)
        for number, piece in enumerate(pieces):
            path = folder / name / f"{number:05d}.parquet"
            pq.write_table(piece, path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def cut(auctions: Auctions, pieces: int) -> dict[str, list[Any]]:
    """Both streams cut at the same times, into so many pieces."""
    kinds = pa.DictionaryArray.from_arrays(auctions.ends.astype(np.int8), ["bid", "closed"]).cast(pa.string())
    tables = {
        "items": (auctions.item_times, pa.table({"id": auctions.ids})),
        "bids": (
            auctions.bid_times,
            pa.table({"item": auctions.items, "price": auctions.prices, "kind": kinds}),
        ),
    }
    ends = np.linspace(0, max(auctions.item_times[-1], auctions.bid_times[-1]), pieces + 1)[1:-1]
    found = {}
    for name, (times, table) in tables.items():
        stops = [0, *np.searchsorted(times, ends, "right").tolist(), len(times)]
        found[name] = [table.slice(start, stop - start) for start, stop in pairwise(stops)]
    return found


def script(data: Path, out: Path, files_a_trigger: int, wanted: int, *, punctuated: bool) -> str:
    """Dear bids with their items; with punctuations declared, or with their rows left out of the stream."""
    end = ",\n  PUNCTUATED ON (item) WHEN kind = 'closed'" if punctuated else ""
    where = "" if punctuated else "\n  WHERE kind = 'bid'"
    return f"""CREATE STREAM items (
  id BIGINT,
  PRIMARY KEY (id)
) USING parquet OPTIONS (path '{data / "items"}', maxFilesPerTrigger '{files_a_trigger}');

CREATE STREAM bids (
  item BIGINT, price BIGINT, kind STRING,
  FOREIGN KEY (item) REFERENCES items (id){end}
) USING parquet OPTIONS (path '{data / "bids"}', maxFilesPerTrigger '{files_a_trigger}'){where};

CREATE SINK dear USING parquet OPTIONS (path '{out}');

INSERT INTO dear
SELECT i.id, b.price FROM items AS i, bids AS b WHERE i.id = b.item AND b.price > {wanted};
"""


def expected(auctions: Auctions) -> Any:
    """The answer, sorted, by numpy alone."""
    dear = ~auctions.ends & (auctions.prices > auctions.wanted) & np.isin(auctions.items, auctions.ids)
    return ordered(auctions.items[dear], auctions.prices[dear])


def answered(out: Path) -> Any:
    """What a run wrote, sorted."""
    read = pq.read_table(out)
    return ordered(read.column("id").to_numpy(), read.column("price").to_numpy())


def ordered(ids: Any, prices: Any) -> Any:
    """Pairs in one order."""
    order = np.lexsort((prices, ids))
    return np.stack([np.asarray(ids)[order], np.asarray(prices)[order]])
