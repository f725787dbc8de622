-- positive: ROW_NUMBER() <= n in a query in FROM, in WITH and in a view; as one query where the query around is no more
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bids) WHERE rn = 1;
WITH n AS (SELECT bidder, price, to_date(ts) AS day, ROW_NUMBER() OVER (PARTITION BY to_date(ts) ORDER BY price DESC NULLS FIRST, bidder) AS rn FROM bids WHERE price > 0)
SELECT * FROM n WHERE rn < 11;
CREATE VIEW sums AS SELECT window(ts, '1 hour').end AS hour, auction, sum(price) AS total FROM bids GROUP BY window(ts, '1 hour'), auction;
SELECT hour, rank, auction AS best FROM (SELECT hour, auction, ROW_NUMBER() OVER (PARTITION BY hour ORDER BY total) AS rank FROM sums) AS s WHERE s.rank <= 3;
SELECT upper(CAST(b.auction AS STRING)) AS a FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY price) AS rn FROM bids) AS b
WHERE b.rn = 2 AND b.price > 3;
