-- check: bounded
-- Nexmark's shape: each bid with its auction. A bid is at most 10 minutes younger than its auction, and the clocks
-- of both streams are ordered, so a row leaves when the other clock has passed its reach.
CREATE STREAM auctions (
  id BIGINT, seller BIGINT, category INT, ms BIGINT,
  ts TIMESTAMP AS (timestamp_millis(ms)),
  EVENT TIME ts,
  PRIMARY KEY (id),
  ORDERED BY ts WITHIN 3 SECONDS
) USING parquet OPTIONS (path 'data/auctions');

CREATE STREAM bids (
  auction BIGINT, bidder BIGINT, price BIGINT, ms BIGINT,
  ts TIMESTAMP AS (timestamp_millis(ms)),
  EVENT TIME ts,
  ORDERED BY ts WITHIN 3 SECONDS
) USING parquet OPTIONS (path 'data/bids');

CREATE SINK matched USING parquet OPTIONS (path 'out/matched');

INSERT INTO matched
SELECT a.id, a.seller, b.bidder, b.price
FROM auctions AS a JOIN bids AS b ON a.id = b.auction
WHERE b.ts BETWEEN a.ts - INTERVAL 1 SECOND AND a.ts + INTERVAL 10 MINUTES;
