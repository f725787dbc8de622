"""Scripts that several tests of the command line share."""

from __future__ import annotations

STREAMS = """
CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
"""

BOUNDED = (
    STREAMS
    + """
SELECT a.id, b.price FROM auctions [RANGE 10 MINUTES] AS a, bids [ROWS 50000] AS b WHERE a.id = b.auction;
"""
)

UNBOUNDED = (
    STREAMS
    + """
SELECT a.id, b.price FROM auctions AS a, bids [ROWS 50000] AS b WHERE a.id = b.auction;
"""
)

UNDECIDED = (
    STREAMS
    + """
SELECT a.id, b.price FROM auctions AS a, bids [ROWS 50000] AS b WHERE a.id = b.auction AND a.seller % 3 = 1;
"""
)

MIXED = BOUNDED + "SELECT a.id FROM auctions AS a, bids AS b WHERE a.id = b.auction;"

BUDGETED = (
    STREAMS
    + """
SELECT /*+ BUDGET(1000 ROWS) */ a.id, b.price FROM auctions AS a, bids AS b WHERE a.id = b.auction;
"""
)

NO_QUERY = STREAMS

TWO_MISTAKES = (
    STREAMS
    + """
SELECT a.idd FROM auctions AS a;
SELECT a.id FROM auctionz AS a;
"""
)


def ten_streams() -> str:
    """A chain of ten streams, each tied to the one before by key and time."""
    created = [
        f"CREATE STREAM s{i} (\n  k{i} BIGINT, k{i + 1} BIGINT, v STRING, ms BIGINT, "
        f"ts TIMESTAMP AS (timestamp_millis(ms)),\n  EVENT TIME ts, PRIMARY KEY (k{i}), "
        f"ORDERED BY ts WITHIN 3 SECONDS, CHECK (ms > 0)\n) USING parquet OPTIONS (path 'data/s{i}');"
        for i in range(10)
    ]
    sources = ", ".join(f"s{i} [RANGE 1 MINUTE] AS t{i}" for i in range(10))
    ties = [f"t{i}.k{i + 1} = t{i + 1}.k{i + 1}" for i in range(9)]
    bands = [f"t{i + 1}.ts - t{i}.ts <= INTERVAL 5 SECONDS" for i in range(9)]
    return "\n".join(created) + f"\nSELECT t0.v, t9.v AS w FROM {sources} WHERE {' AND '.join(ties + bands)};\n"
