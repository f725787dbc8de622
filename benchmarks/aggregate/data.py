"""Three queries that count what they join, and streams in which each key comes so many times on each side.

`pairs` joins two streams on a key: with a thousand rows a key on each side each key has a million results. `links` is
KMON's motivating query (section 1.1), the total traffic common to three links within ten minutes: with a thousand
rows a key on each link each key has a thousand million. `left` is `pairs` as an outer join within ten minutes. All
rows of a key come within five minutes of event time, so that every combination is a result and the answer can be had
by multiplying.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

MINUTE = 60_000_000
_SPREAD = 5 * MINUTE
_LATE = 10 * MINUTE
STREAM = """CREATE STREAM {name} (pid BIGINT, size BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 0 SECONDS, CHECK (pid >= 0 AND pid < {keys})){source};
"""
QUERIES = {
    "pairs": (
        ("r", "s"),
        "SELECT count(*) AS results, sum(r.size) AS total, max(s.size) AS largest FROM r, s WHERE r.pid = s.pid",
    ),
    "links": (
        ("c", "b", "o"),
        "SELECT count(*) AS results, sum(c.size) AS total\n"
        "FROM c [RANGE 10 MINUTES], b [RANGE 10 MINUTES], o [RANGE 10 MINUTES]\n"
        "WHERE c.pid = b.pid AND b.pid = o.pid",
    ),
    "left": (
        ("r", "s"),
        "SELECT count(*) AS results, sum(r.size) AS total\nFROM r LEFT JOIN s ON r.pid = s.pid\n"
        "  AND s.ts BETWEEN r.ts - INTERVAL 10 MINUTES AND r.ts + INTERVAL 10 MINUTES",
    ),
}


@dataclass(frozen=True)
class Case:
    """A query over streams of so many rows, in which each key comes `fanout` times on each."""

    query: str
    rows: int
    fanout: int

    @property
    def streams(self) -> tuple[str, ...]:
        """Their names, in the order of FROM."""
        return QUERIES[self.query][0]

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return self.rows // self.fanout

    def script(self, source: str = "", sink: str = "") -> str:
        """The script; `source` has {name}, the name of a stream."""
        made = [
            STREAM.format(name=name, keys=self.keys, source=source.replace("{name}", name)) for name in self.streams
        ]
        return f"{''.join(made)}{sink}{QUERIES[self.query][1]};\n"


def generated(case: Case) -> dict[str, Any]:
    """The rows of each stream, in order of event time, the same on every run."""
    draw = np.random.default_rng(case.fanout)
    tables = {}
    for name in case.streams:
        key = np.repeat(np.arange(case.keys), case.fanout)
        # Keys begin one after the other; in all they take as long whatever the fan-out.
        begin = key * (_LATE * 6 // case.keys)
        time = begin + draw.integers(0, _SPREAD, len(key))
        order = np.argsort(time, kind="stable")
        size = draw.integers(40, 1500, len(key))
        tables[name] = pa.table(
            {
                "pid": key[order],
                "size": size[order],
                "ts": pa.array(time[order], pa.timestamp("us", "UTC")),
            }
        )
    return tables


def expected(case: Case, tables: dict[str, Any]) -> tuple[int, int]:
    """The number of results and the sum of the first stream's sizes over them, by multiplying."""
    first = tables[case.streams[0]]
    met = case.fanout ** (len(case.streams) - 1)
    return first.num_rows * met, int(first.column("size").to_numpy().sum()) * met
