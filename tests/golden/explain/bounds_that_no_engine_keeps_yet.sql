-- positive: where only the verdict knows what bounds a stream, the plan says so, and what this version cannot run
CREATE STREAM auctions (id BIGINT, seller BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN AUTO);
CREATE STREAM doors (open BOOLEAN);
CREATE STREAM alarms (loud BOOLEAN);
SELECT a.id, b.price FROM auctions AS a
LEFT JOIN bids AS b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.price > 10 AND a.seller > 3
WHERE coalesce(b.price, 0) < 100 AND a.seller IS NOT NULL;
SELECT a.id, b.price FROM auctions AS a, bids AS b
WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR;
SELECT d.open FROM doors AS d, alarms AS a WHERE d.open = a.loud;
SELECT /*+ BUDGET(1000 ROWS), VALUE(b.price) */ a.id FROM auctions AS a, bids AS b WHERE a.id = b.auction;
