-- negative: where one piece of state has no fix, the report says that the fixes of the others do not suffice
CREATE STREAM auctions (id BIGINT, seller BIGINT);
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
SELECT a.seller, count(*) AS n FROM auctions AS a, bids AS b WHERE a.id = b.auction GROUP BY a.seller;
SELECT a.id, b.price FROM auctions AS a, bids AS b;
SELECT /*+ BUDGET(100 ROWS) */ a.id, b.price FROM auctions [ROWS 500] AS a, bids [ROWS 50] AS b WHERE a.id = b.auction;
