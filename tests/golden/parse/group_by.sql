-- positive: GROUP BY a column, an expression, an output's name, its number; every aggregate
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK out USING memory;
INSERT INTO out SELECT auction, count(*) AS n, count(price) AS priced, sum(price) AS total, min(price) AS low, max(price) AS high,
  avg(price) AS mean, median(price) AS middle, count(DISTINCT bidder) AS bidders, sum(price * 2 + 1) AS odd
FROM bids GROUP BY auction;
INSERT INTO out SELECT upper(kind) AS k, COUNT(1) AS n FROM bids GROUP BY upper(kind);
INSERT INTO out SELECT upper(kind) AS k, count(*) FROM bids GROUP BY k;
INSERT INTO out SELECT upper(kind) AS k, bidder, max(price) FROM bids GROUP BY 1, 2;
INSERT INTO out SELECT bidder + 1 AS next, count(*) AS n FROM bids GROUP BY bidder;
INSERT INTO out SELECT auction FROM bids GROUP BY auction;
SELECT count(*) AS n, max(b.price) AS best FROM auctions a, bids b WHERE a.id = b.auction;
