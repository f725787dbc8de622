"""Queries 1, 2 and 3 of the introduction as counts, beside the original counted by hand: real captures, our traffic.

The captures lie years apart; they are put one after the other, an hour between them, so that one run reads them in
order. A connection is (capture, src, sport, dst, dport), reversed for the answer; of the FINs, those of the client
count, which is the side with the higher port. In `ppa_ftpcrack` most packets were captured twice, and it is left out.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.packets.report import table
from benchmarks.rewrite.systems import CONF
from benchmarks.rewrite.traffic import SECOND, START, dns, traffic

from penstock import compile as way
from penstock.spark.run import RunOptions, run_script

Packets = list[tuple[str, int]]
"""Flows and times."""
TWICE = "ppa_ftpcrack"
WINDOW = 300 * SECOND

_STREAM = """CREATE STREAM {name} (
  flow STRING, ts TIMESTAMP, id VIRTUAL, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND, PRIMARY KEY (id){more}
) USING parquet OPTIONS (path '{data}/{name}');
"""
_REFERS = """,
  FOREIGN KEY (id, flow) REFERENCES {parent} (id, flow) WINDOW [-{seconds} SECONDS, 0]"""
_SPANS = """,
  STREAM KEY (flow) SPANS {child} WINDOW [0, 15 SECONDS]"""
_WITHOUT = """NOT EXISTS (SELECT 1 FROM {child}
  WHERE {parent}.flow = {child}.flow AND {child}.ts >= {parent}.ts
    AND {child}.ts - {parent}.ts <= INTERVAL {seconds} SECONDS)"""
_QUERY = """CREATE SINK {sink} USING parquet OPTIONS (path '{out}/{sink}');
INSERT INTO {sink}
SELECT /*+ ERROR(5 PERCENT WITH BOUNDS) */ window({root}.ts, '5 minutes').start AS tb, count(*) AS cnt
FROM {sources} WHERE {where} GROUP BY window({root}.ts, '5 minutes');
"""


@dataclass(frozen=True)
class Captured:
    """A query of the introduction: what it counts, truly and by counts, and over how many rows of its first stream."""

    query: str
    rows: int
    truth: int
    answer: int
    worst: int
    """The largest error of a window."""
    windows: int
    broken: int
    """In how many windows the output itself says that a declaration is broken."""
    exceeded: int
    """In how many windows the output itself says that more was measured than declared."""


def text(data: Path, out: Path) -> str:
    """The three queries as one script."""
    streams = (
        ("dnsq", _SPANS.format(child="dnsr")),
        ("dnsr", _REFERS.format(parent="dnsq", seconds=5)),
        ("syn", _SPANS.format(child="synack")),
        ("synack", _REFERS.format(parent="syn", seconds=5) + _SPANS.format(child="fin")),
        ("fin", _REFERS.format(parent="synack", seconds=10)),
    )
    declared = "".join(_STREAM.format(name=name, more=more, data=data) for name, more in streams)
    answered = "syn.flow = synack.flow AND synack.ts >= syn.ts AND synack.ts - syn.ts <= INTERVAL 5 SECONDS"
    queries = (
        ("query_1", "dnsq", "dnsq", _WITHOUT.format(parent="dnsq", child="dnsr", seconds=5)),
        ("query_2", "syn", "syn", _WITHOUT.format(parent="syn", child="synack", seconds=5)),
        (
            "query_3",
            "syn",
            "syn, synack",
            f"{answered} AND {_WITHOUT.format(parent='synack', child='fin', seconds=10)}",
        ),
    )
    return declared + "".join(
        _QUERY.format(sink=sink, root=root, sources=sources, where=where, out=out)
        for sink, root, sources, where in queries
    )


def measured_captures(packets: Path, home: Path) -> list[Captured]:
    """The queries on captures of real traffic."""
    return measured("real", read_captures(packets), home)


def measured_traffic(seconds: int, connections: int, home: Path) -> list[Captured]:
    """The queries on traffic of our own."""
    packets = {**traffic(seconds, connections).packets, **dns(seconds, connections)}
    rows = {
        name: [(str(flow), START + at) for at, flow in zip(times.tolist(), flows.tolist(), strict=True)]
        for name, (times, flows) in packets.items()
    }
    return measured("ours", _ended(rows, START + seconds * SECOND), home)


def measured(name: str, rows: dict[str, Packets], home: Path) -> list[Captured]:
    """Run the queries and count by hand."""
    data, out = home / f"{name}-data", home / f"{name}-out"
    for stream, found in rows.items():
        (data / stream).mkdir(parents=True)
        stamps = pa.array([ts for _, ts in found], pa.timestamp("us", "UTC"))
        written = pa.table({"flow": [flow for flow, _ in found], "ts": stamps})
        pq.write_table(written, data / stream / "0.parquet")
    script = way.parse(text(data, out))
    plans = [(q, way.runnable_plan(q, way.check(script, q.name), allow_unbounded=False)) for q in script.queries]
    # There are few packets, so the sample is all of them.
    conf = {**CONF, "penstock.sample": "1"}
    run_script(script, plans, RunOptions(checkpoint=str(home / f"{name}-run"), available_now=True, conf=conf))
    return [
        _beside(f"{name}, {query}", rows[first], truth, out / query)
        for query, first, truth in (
            ("query_1", "dnsq", without(rows["dnsq"], rows["dnsr"], 5)),
            ("query_2", "syn", without(rows["syn"], rows["synack"], 5)),
            ("query_3", "syn", _pairs_without(rows)),
        )
    ]


def read_captures(packets: Path) -> dict[str, Packets]:
    """Flows and times by stream, the captures one after the other."""
    rows: dict[str, Packets] = {name: [] for name in ("dnsq", "dnsr", "syn", "synack", "fin")}
    begin = START
    for path in sorted(packets.glob("*.csv.gz")):
        if path.name.startswith(TWICE):
            continue
        with gzip.open(path, "rt") as lines:
            found = list(csv.DictReader(lines))
        first = min(float(row["ts"]) for row in found)
        last = begin
        for row in found:
            last = begin + round((float(row["ts"]) - first) * SECOND)
            ends = (f"{row['src']}:{row['sport']}", f"{row['dst']}:{row['dport']}")
            kind = row["kind"].lower()
            if kind in ("synack", "dnsr"):
                ends = (ends[1], ends[0])
            if kind == "rst" or (kind == "fin" and int(row["sport"]) < int(row["dport"])):
                continue
            mark = row["dns_id"] if kind in ("dnsq", "dnsr") else ""
            rows[kind].append(("/".join((row["capture"], *ends, mark)), last))
        begin = (last // WINDOW + 12) * WINDOW
    return _ended(rows, begin)


def _ended(rows: dict[str, Packets], end: int) -> dict[str, Packets]:
    """One more row for each stream, which moves its clock past the last window."""
    return {name: [*found, (f"end of {name}", (end // WINDOW + 2) * WINDOW)] for name, found in rows.items()}


def _times(rows: Packets) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for flow, ts in rows:
        found[flow].append(ts)
    return found


def without(rows: Packets, others: Packets, seconds: int) -> list[int]:
    """The times of rows without a partner so soon after."""
    by_flow = _times(others)
    return [ts for flow, ts in rows if not any(0 <= t - ts <= seconds * SECOND for t in by_flow[flow])]


def _pairs_without(rows: dict[str, Packets]) -> list[int]:
    answers, ends = _times(rows["synack"]), _times(rows["fin"])
    found = []
    for flow, ts in rows["syn"]:
        for answer in answers[flow]:
            ended = any(0 <= end - answer <= 10 * SECOND for end in ends[flow])
            if 0 <= answer - ts <= 5 * SECOND and not ended:
                found.append(ts)
    return found


def _beside(query: str, first: Packets, truth: list[int], out: Path) -> Captured:
    windows = Counter(ts // WINDOW for ts in truth)
    answers: Counter[int] = Counter()
    broken = exceeded = 0
    for path in out.glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            answers[int(row["tb"].timestamp() * SECOND) // WINDOW] += row["cnt"]
            broken += bool(row["broken"])  # NULL where the sample is empty
            exceeded += row["exceeded"]
    over = {ts // WINDOW for _, ts in first[:-1]}
    worst = max(abs(answers[window] - windows[window]) for window in over)
    truly, counted = (sum(found[w] for w in over) for found in (windows, answers))
    return Captured(query, len(first) - 1, truly, counted, worst, len(over), broken, exceeded)


def as_captures(captures: Sequence[Captured]) -> list[str]:
    """The figures, line by line."""
    rows = [
        ["packets, query", "rows of the first stream", "truth", "counts", "worst window off by", "broken", "exceeded"]
    ]
    for c in captures:
        says = (f"{windows} of {c.windows}" for windows in (c.broken, c.exceeded))
        rows.append([c.query, f"{c.rows:,}", f"{c.truth:,}", f"{c.answer:,}", f"{c.worst:,}", *says])
    return ["", *table(rows)]
