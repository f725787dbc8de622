-- positive: joins of grouped streams and DISTINCT below a join are bounded by the frontiers of the blocks below
CREATE STREAM bids (
  auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, CHECK (auction IS NOT NULL)
);
CREATE STREAM auctions (id BIGINT, seller BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE VIEW best AS
SELECT auction, window(ts, '1 minute').end AS until, max(price) AS most FROM bids GROUP BY auction, window(ts, '1 minute');
CREATE VIEW bidding AS SELECT DISTINCT bidder, ts FROM bids WHERE ts IS NOT NULL;

SELECT a.id, b.until, b.most
FROM auctions AS a LEFT JOIN best AS b
  ON b.auction = a.id AND b.until - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 10 MINUTES;

SELECT a.id, b.bidder
FROM auctions AS a JOIN bidding AS b ON b.bidder = a.seller AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 MINUTE;
