-- positive: a band of event times between ordered streams bounds both

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT a.id, b.price FROM auctions AS a, bids AS b
WHERE a.id = b.auction AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 5 MINUTES;
