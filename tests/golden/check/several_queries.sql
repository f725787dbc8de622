-- negative: one query of three has no bound, and the exit code is that of the worst

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE SINK out USING console;
INSERT INTO out SELECT id FROM auctions;
INSERT INTO out SELECT a.id, b.price FROM auctions [ROWS 10] AS a, bids [ROWS 10] AS b WHERE a.id = b.auction;
SELECT a.id, b.price FROM auctions AS a, bids AS b WHERE a.id = b.auction;
