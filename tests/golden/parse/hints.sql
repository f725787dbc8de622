-- positive: every hint, in one list right after SELECT
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT /*+ BUDGET(100000 ROWS), EVICT(prob), ERROR(5 PERCENT), MONITOR(1.2, 0.01, 1000) */ DISTINCT id FROM auctions;
SELECT /*+ BUDGET(64 MB), EVICT(LIFE), ARCHIVE('out/late') */ id FROM auctions;
SELECT /*+ budget(2 GB), value(price * 2), Evict(rand) */ price FROM bids;
SELECT /*+ SHED(INPUT), BUDGET(10 KB) */ id FROM auctions;
SELECT /*+ ERROR(0.5 PERCENT WITH BOUNDS) */ count(*) AS n FROM auctions;
