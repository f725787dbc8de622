-- positive: any other condition on one stream is kept for Spark, columns resolved, OR in parentheses
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a.id FROM auctions a, bids b
WHERE a.id = b.auction AND (KIND = 'x' OR price > 3) AND kind LIKE 'a%' AND B.kind RLIKE '^a' AND bidder % 2 = 0
  AND upper ( kind ) <> 'Y' /* a comment */ AND b.kind IS NOT NULL AND NOT kind IN ('q') AND a.ts > current_timestamp()
  AND price * 2 + 1 > 5 AND kind NOT IN ('r', 's') AND a.seller <> 4 AND b.bidder <=> 4;
