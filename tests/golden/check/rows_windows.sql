-- positive: ROWS windows bound both streams by their own number of rows

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT a.id, b.price FROM auctions [ROWS 1000] AS a, bids [ROWS 50000] AS b WHERE a.id = b.auction;
