-- positive: an outer join drops no row of its own side; NOT EXISTS and a second stage are planned too

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT DISTINCT a.id, b.price FROM auctions [ROWS 10] AS a LEFT JOIN bids [ROWS 20] AS b ON a.id = b.auction AND b.price > 10
  AND a.seller > 3;
SELECT a.id FROM auctions [ROWS 10] AS a
WHERE NOT EXISTS (SELECT * FROM bids [ROWS 20] AS b WHERE a.id = b.auction);
