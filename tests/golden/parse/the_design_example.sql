-- positive: the example of DESIGN section 3, with every constraint of the language
CREATE STREAM bids (
  seq BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, ms BIGINT, kind STRING,
  ts TIMESTAMP AS (timestamp_millis(ms)),
  conn VIRTUAL,
  EVENT TIME ts,
  ARRIVES BY seq,
  PRIMARY KEY (bidder, ts),
  ORDERED BY ts WITHIN 3 SECONDS,
  CLUSTERED BY auction WITHIN 1000 ROWS,
  FOLLOWS auctions (id) ON (auction) WITHIN 200 ROWS,
  FOREIGN KEY (auction) REFERENCES auctions (id) WINDOW [-5 SECONDS, 0],
  STREAM KEY (conn) SPANS auctions WINDOW [0, *],
  COOCCURS (auction) AND auctions (id) WINDOW [-5 SECONDS, 0],
  PUNCTUATED ON (auction) WHEN kind = 'closed' LIFESPAN 5 HOURS,
  CHECK (price > 0 AND price < 1000000)
) USING parquet OPTIONS (path 'data/bids', maxFilesPerTrigger '3')
  WHERE kind IN ('bid', 'closed');
CREATE STREAM auctions (id BIGINT, conn VIRTUAL, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK out USING parquet OPTIONS (path 'out/bids');
INSERT INTO out
SELECT /*+ BUDGET(100000 ROWS), EVICT(prob), ERROR(5 PERCENT) */ DISTINCT a.id, b.price
FROM auctions [RANGE 10 MINUTES] AS a, bids [ROWS 50000] AS b
WHERE a.id = b.auction AND b.price > 10 AND b.ts - a.ts <= INTERVAL 5 SECONDS;
