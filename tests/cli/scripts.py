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


def ten_views() -> str:
    """Ten views, each over the one before or over streams: filters, a join, groups, DISTINCT, a union; and a query."""
    streams = "\n".join(
        f"CREATE STREAM s{i} (k BIGINT, v STRING, n INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS) "
        f"USING parquet OPTIONS (path 'data/s{i}');"
        for i in range(3)
    )
    views = (
        "SELECT k, upper(v) AS v, n, ts FROM s0 WHERE n > 0",
        "SELECT k, v, n, ts FROM v0 WHERE v LIKE 'A%'",
        "SELECT k, n, ts FROM s1 WHERE n BETWEEN 1 AND 9",
        "SELECT a.k AS k, a.n AS n, b.n AS m, a.ts AS ts FROM v1 AS a JOIN v2 AS b "
        "ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 MINUTES",
        "SELECT k, n, m, ts FROM v3 WHERE n <> m",
        "SELECT window(ts, '10 minutes').end AS until, k, count(*) AS c, sum(m) AS m FROM v4 "
        "GROUP BY window(ts, '10 minutes'), k",
        "SELECT until, k, c FROM v5 WHERE c > 2",
        "SELECT k, ts FROM s2 UNION ALL SELECT k, ts FROM v2",
        "SELECT window(ts, '10 minutes').end AS until, k, max(ts) AS last FROM v7 GROUP BY window(ts, '10 minutes'), k",
        "SELECT a.until AS until, a.k AS k, a.c AS c, b.last AS last FROM v6 AS a JOIN v8 AS b "
        "ON a.k = b.k AND a.until = b.until",
    )
    created = "\n".join(f"CREATE VIEW v{i} AS {text};" for i, text in enumerate(views))
    return f"{streams}\n{created}\nSELECT k, c, last FROM v9 WHERE c < 100;\n"
