-- negative: a band that ends on one side bounds one stream and leaves the other undecided

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT a.id, b.price FROM auctions AS a, bids AS b WHERE a.id = b.auction AND b.ts <= a.ts + INTERVAL 5 MINUTES;
