"""Makes the data of the examples about what is missing, and says what each should find.

    python examples/missing_rows.py            # writes data/… into the working directory
    penstock run examples/unanswered_dns.sql --checkpoint checkpoint --available-now

Each stream ends with a row far ahead of all others, which settles what came before it.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2024, 5, 1, tzinfo=UTC)
FAR = 1_000_000
TIME = pa.timestamp("us", "UTC")
Rows = list[dict[str, Any]]
Expected = dict[str, set[tuple[Any, ...]]]
"""By sink, the rows that it should end with."""


def at(second: float) -> datetime:
    """A moment, so many seconds after the start."""
    return START + timedelta(seconds=second)


def window_of(second: float) -> datetime:
    """The start of its 5 minutes."""
    return at(second // 300 * 300)


def dns(draw: random.Random, size: int) -> tuple[dict[str, Rows], Expected]:
    """Requests, most of them answered in time, some too late; and those that are not."""
    requests, answers, missing = [], [], set()
    by_window: Counter[datetime] = Counter()
    for number in range(size):
        client, second = f"10.0.0.{draw.randint(1, 9)}", number * 15
        requests.append({"id": number, "client": client, "name": f"host{number % 7}.example", "ts": at(second)})
        wait = draw.choice([0.01, 0.2, 2, 4.9, 7, None])
        if wait is not None:
            answers.append({"id": number, "client": client, "code": 0, "ts": at(second + wait)})
        if wait is None or wait > 5:
            missing.add((number, client, f"host{number % 7}.example"))
            by_window[window_of(second)] += 1
    requests.append({"id": -1, "client": "", "name": "", "ts": at(FAR)})
    answers.append({"id": -2, "client": "", "code": 0, "ts": at(FAR)})
    expected = {"unanswered": missing, "unanswered_requests": set(by_window.items())}
    return {"dns_requests": requests, "dns_answers": answers}, expected


def auctions(draw: random.Random, size: int) -> tuple[dict[str, Rows], Expected]:
    """Auctions, their bids, and after the last bid of each its close; every auction with its prices."""
    opened, given, expected = [], [], set()
    for number in range(size):
        opened.append({"id": number, "seller": number % 5})
        prices = draw.sample(range(1, 1_000), draw.choice([0, 0, 1, 3]))
        given += [{"auction": number, "price": price, "kind": "bid"} for price in prices]
        given.append({"auction": number, "price": None, "kind": "closed"})
        expected |= {(number, number % 5, price) for price in prices or [None]}
    return {"opened_auctions": opened, "bids_and_closes": given}, {"sold_or_not": expected}


def impressions(draw: random.Random, size: int) -> tuple[dict[str, Rows], Expected]:
    """Impressions, some of them clicked, some after more than half an hour; and those that do not count as clicked."""
    shown, clicks, missing = [], [], set()
    for number in range(size):
        name, campaign = f"i{number}", f"c{number % 3}"
        shown.append({"impression": name, "campaign": campaign, "ts": at(number)})
        wait = draw.choice([3, 600, 1_799, 1_801, None, None])
        if wait is not None:
            clicks.append({"impression": name, "ts": at(number + wait)})
        if wait is None or wait > 1_800:
            missing.add((name, campaign))
    shown.append({"impression": "last", "campaign": "", "ts": at(FAR)})
    clicks.append({"impression": "none", "ts": at(FAR)})
    return {"impressions": shown, "clicks": clicks}, {"unclicked": missing}


def connections(draw: random.Random, size: int) -> tuple[dict[str, Rows], Expected]:
    """Connections: asked for, answered or not, closed or not; those that were answered and not closed in time."""
    found: dict[str, Rows] = {"syn": [], "synack": [], "fin": []}
    half_open = set()
    for number in range(size):
        ip, second = f"10.1.{number // 250}.{number % 250}", number / 5
        found["syn"].append({"ip": ip, "ts": at(second)})
        answer, close = draw.choice([0.5, 4, 6, None]), draw.choice([1, 9, 11, None])
        if answer is None:
            continue
        found["synack"].append({"ip": ip, "ts": at(second + answer)})
        if close is not None:
            found["fin"].append({"ip": ip, "ts": at(second + answer + close)})
        if answer <= 5 and (close is None or close > 10):
            half_open.add((ip, at(second), at(second + answer)))
    for rows in found.values():
        rows.append({"ip": "", "ts": at(FAR)})
    return found, {"half_open": half_open}


def handshakes(draw: random.Random, size: int) -> tuple[dict[str, Rows], Expected]:
    """Connections that keep to the declared times; for every 5 minutes, how many were not answered, or not closed."""
    found: dict[str, Rows] = {"tcp_syn": [], "tcp_synack": [], "tcp_fin": []}
    unanswered: Counter[datetime] = Counter()
    unfinished: Counter[datetime] = Counter()
    for number in range(size):
        ip, second = f"10.2.{number // 250}.{number % 250}", number * 20
        found["tcp_syn"].append({"ip": ip, "ts": at(second)})
        answer, close = draw.choice([0.5, 4, 5, None]), draw.choice([1, 9, 10, None, None])
        if answer is None:
            unanswered[window_of(second)] += 1
            continue
        found["tcp_synack"].append({"ip": ip, "ts": at(second + answer)})
        if close is not None:
            found["tcp_fin"].append({"ip": ip, "ts": at(second + answer + close)})
        else:
            unfinished[window_of(second)] += 1
    for rows in found.values():
        rows.append({"ip": "", "ts": at(FAR)})
    return found, {"unanswered_syns": set(unanswered.items()), "unfinished": set(unfinished.items())}


SCHEMAS = {
    "dns_requests": [("id", pa.int64()), ("client", pa.string()), ("name", pa.string()), ("ts", TIME)],
    "dns_answers": [("id", pa.int64()), ("client", pa.string()), ("code", pa.int32()), ("ts", TIME)],
    "opened_auctions": [("id", pa.int64()), ("seller", pa.int64())],
    "bids_and_closes": [("auction", pa.int64()), ("price", pa.int64()), ("kind", pa.string())],
    "impressions": [("impression", pa.string()), ("campaign", pa.string()), ("ts", TIME)],
    "clicks": [("impression", pa.string()), ("ts", TIME)],
    **{name: [("ip", pa.string()), ("ts", TIME)] for name in ("syn", "synack", "fin")},
    **{name: [("ip", pa.string()), ("ts", TIME)] for name in ("tcp_syn", "tcp_synack", "tcp_fin")},
}
MAKERS = (dns, auctions, impressions, connections, handshakes)


def write(folder: Path, size: int = 400, seed: int = 7) -> Expected:
    """Write the data of every example; gives what each sink should hold."""
    expected: Expected = {}
    for make in MAKERS:
        streams, found = make(random.Random(seed), size)
        expected |= found
        for name, rows in streams.items():
            path = folder / "data" / name / "part.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            # In the order of their times, as the streams promise.
            ordered = sorted(rows, key=lambda row: row["ts"]) if "ts" in rows[0] else rows
            pq.write_table(pa.Table.from_pylist(ordered, schema=pa.schema(SCHEMAS[name])), path)
    return expected


if __name__ == "__main__":
    for sink, rows in write(Path()).items():
        sys.stdout.write(f"out/{sink} should end with {len(rows)} rows\n")
