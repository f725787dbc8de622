-- positive: a RANGE window closes a stream once the other's event time has passed it; no number of rows follows

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT a.id, b.price FROM auctions [RANGE 10 MINUTES] AS a, bids [RANGE 10 MINUTES] AS b WHERE a.id = b.auction;
