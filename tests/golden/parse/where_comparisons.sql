-- positive: comparisons of columns and constants, either way round, BETWEEN, IN, flags
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a.id FROM auctions a, bids b
WHERE a.id = b.auction AND a.seller <= b.bidder AND b.auction >= a.seller AND 10 < b.price AND b.price BETWEEN 1 AND 2.5
  AND b.kind IN ('x', 'y') AND a.open AND b.kind = 'it\'s' AND a.ts >= '2024-01-01 00:00:00'
  AND (b.bidder > 3 AND (a.seller < -5)) AND 7 = a.id AND a.id = 12L;
SELECT id FROM auctions WHERE NOT open;
