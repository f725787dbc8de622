-- positive: FOLLOWS closes one stream; without ARRIVES BY a notice says that the order of reading is meant
CREATE STREAM auctions (id BIGINT, seller BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, FOLLOWS auctions (id) ON (auction) WITHIN 200 ROWS
);
SELECT a.seller, b.price FROM auctions AS a, bids AS b
WHERE a.id = b.auction AND b.ts <= a.ts + INTERVAL 1 HOUR;
