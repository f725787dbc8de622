-- positive: time differences: x - y op i, x op y + i, x op y - i, BETWEEN both ways, intervals in every form
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a.id FROM auctions a, bids b WHERE a.id = b.auction AND b.ts - a.ts <= INTERVAL 5 SECONDS;
SELECT a.id FROM auctions a, bids b WHERE b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 5 SECONDS;
SELECT a.id FROM auctions a, bids b WHERE b.ts > a.ts - INTERVAL '1' MINUTE AND a.ts + INTERVAL '2 HOURS' >= b.ts;
SELECT a.id FROM auctions a, bids b WHERE b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS;
SELECT a.id FROM auctions a, bids b WHERE b.ts BETWEEN a.ts - INTERVAL 1 DAY AND a.ts - INTERVAL '1.5' HOURS;
SELECT a.id FROM auctions a, bids b WHERE b.ts - a.ts BETWEEN INTERVAL '-5' SECONDS AND INTERVAL 1 MINUTE;
SELECT a.id FROM auctions a, bids b WHERE INTERVAL 3 SECONDS > b.ts - a.ts AND b.ts - INTERVAL 1 WEEK < a.ts;
SELECT a.id FROM auctions a, bids b WHERE b.ts - a.ts < INTERVAL 1 MINUTE + INTERVAL 30 SECONDS;
SELECT a.id FROM auctions a, bids b WHERE b.ts < a.ts + INTERVAL 1 MINUTE 30 SECONDS;
