-- negative: where rows of a block never leave, its answer has no clock and nothing above it is bounded
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM auctions (id BIGINT, seller BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE VIEW pairs AS SELECT DISTINCT a.id, b.price, b.ts FROM auctions AS a JOIN bids AS b ON a.id = b.auction;
SELECT p.id, b.price
FROM pairs AS p JOIN bids AS b ON b.auction = p.id AND b.ts - p.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 MINUTE;
