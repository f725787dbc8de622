"""Traffic of the project's own: SYN, SYN-ACK and FIN packets of connections, and what is wrong with some of them.

Connection lengths are those of REWRITE 5.2: two thirds at most 2 s, nine tenths at most 5 s, 98 % at most 10 s; the
rest are late FINs, 15 s to a minute. One SYN in a hundred is retransmitted, 7 % are never answered, 15 % of the
connections are not closed, and every quarter of an hour comes a SYN flood, whose connections are accepted and never
closed. Late FINs and retransmissions break what is declared; the rest keeps it. The original query is answered here by
numpy alone: the truth of every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_400_000_000
"""Microseconds since 1970 at which the first window begins: a whole number of 1, 2 and 5 minutes."""
LEAD = 60
"""Seconds of traffic before it, so that the first window is like any other: matches come in from before."""
SECOND = 1_000_000
STREAMS = ("syn", "synack", "fin")


@dataclass(frozen=True)
class Traffic:
    """Packets by stream: times in microseconds from the start, in order, and connections."""

    seconds: int
    packets: dict[str, tuple[Any, Any]]

    @property
    def rows(self) -> int:
        """All packets."""
        return sum(len(times) for times, _ in self.packets.values())

    def write(self, folder: Path, files: int) -> None:
        """One parquet file of each stream for each stretch of event time."""
        edges = np.linspace(0, self.seconds * SECOND, files + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        for name, (times, ips) in self.packets.items():
            (folder / name).mkdir(parents=True)
            for number in range(files):
                low, high = np.searchsorted(times, edges[number : number + 2])
                stamps = pa.array(times[low:high] + START, pa.timestamp("us", "UTC"))
                text = pa.array(ips[low:high]).cast(pa.string())
                pq.write_table(pa.table({"ip": text, "ts": stamps}), folder / name / f"{number:04d}.parquet")


def traffic(seconds: int, connections: int, seed: int = 5, breaking: bool = True) -> Traffic:
    """So many connections a second, for so long; without late FINs and retransmissions if nothing is to break."""
    random = np.random.default_rng(seed)
    count = (LEAD + seconds) * connections
    syn = random.uniform(-LEAD, seconds, count)
    floods = np.arange(400, seconds, 900)  # half a minute of a SYN flood, every quarter of an hour
    flood = random.random(count) < (0.02 if len(floods) else 0)
    if len(floods):
        syn[flood] = random.choice(floods, int(flood.sum())) + random.uniform(0, 30, int(flood.sum()))
    ip = random.permutation(count)
    answered = flood | (random.random(count) < 0.93)
    lag = np.minimum(random.exponential(0.15, count), 4.9)
    length = np.select(
        [random.random(count) < 2 / 3, random.random(count) < 0.7, random.random(count) < 0.8],
        [random.uniform(0.1, 2, count), random.uniform(2, 5, count), random.uniform(5, 10, count)],
        random.uniform(15, 60, count) if breaking else 9.0,
    )
    closed = answered & ~flood & (random.random(count) < 0.85)
    again = random.random(count) < (0.01 if breaking else 0)
    lag[again] = random.uniform(0.5, 4.9, int(again.sum()))  # the answer is slow, so the client asks again after 1 s
    resent = (syn[again] + 1, ip[again])
    synack = syn + lag
    fin = np.maximum(syn + length, synack)
    found = {
        "syn": (np.concatenate([syn, resent[0]]), np.concatenate([ip, resent[1]])),
        "synack": (synack[answered], ip[answered]),
        "fin": (fin[closed], ip[closed]),
    }
    packets = {}
    for name, (times, ips) in found.items():
        inside = times < seconds
        order = np.argsort(times[inside], kind="stable")
        packets[name] = ((times[inside][order] * SECOND).astype(np.int64), ips[inside][order])
    return Traffic(seconds, packets)


def dns(seconds: int, requests: int, seed: int = 6) -> dict[str, tuple[Any, Any]]:
    """DNS requests and responses: one in 20 is not answered, one in 200 too late, one in 100 sent again."""
    random = np.random.default_rng(seed)
    count = seconds * requests
    asked = random.uniform(0, seconds, count)
    answered = random.random(count) < 0.95
    lag = np.where(random.random(count) < 0.005, random.uniform(5, 20, count), random.exponential(0.05, count) % 5)
    again = random.random(count) < 0.01
    number = np.arange(count)
    found = {
        "dnsq": (np.concatenate([asked, asked[again] + 2]), np.concatenate([number, number[again]])),
        "dnsr": ((asked + lag)[answered], number[answered]),
    }
    ordered = {}
    for name, (times, ids) in found.items():
        order = np.argsort(times, kind="stable")
        ordered[name] = ((times[order] * SECOND).astype(np.int64), ids[order])
    return ordered


def original(made: Traffic) -> Any:
    """The times of the SYNs that the original query counts, one for each result."""
    syn, synack, fin = (made.packets[name] for name in STREAMS)
    answers = _paired(synack, fin, 10 * SECOND, wanted=False)
    pairs = _paired_all(syn, (synack[0][answers], synack[1][answers]), 5 * SECOND)
    return syn[0][pairs]


def _coded(parents: tuple[Any, Any], children: tuple[Any, Any]) -> tuple[Any, Any]:
    width = 1 << 40
    return parents[1] * width + parents[0], np.sort(children[1] * width + children[0])


def _paired(parents: tuple[Any, Any], children: tuple[Any, Any], most: int, wanted: bool) -> Any:
    """Which parents have, or have not, a child at most so much later."""
    own, others = _coded(parents, children)
    found = np.searchsorted(others, own + most, side="right") > np.searchsorted(others, own, side="left")
    return found if wanted else ~found


def _paired_all(parents: tuple[Any, Any], children: tuple[Any, Any], most: int) -> Any:
    """The parents of every pair with a child at most so much later."""
    own, others = _coded(parents, children)
    counts = np.searchsorted(others, own + most, side="right") - np.searchsorted(others, own, side="left")
    return np.repeat(np.arange(len(own)), counts)
