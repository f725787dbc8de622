-- positive: EXISTS and NOT EXISTS with one inner stream, which may use the outer streams' columns
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT id FROM auctions WHERE EXISTS (SELECT 1 FROM bids WHERE auction = id AND price > 5);
SELECT a.id FROM auctions a WHERE NOT EXISTS (SELECT * FROM bids [RANGE 1 HOUR] b WHERE b.auction = a.id AND b.ts >= a.ts);
SELECT a.id FROM auctions a WHERE a.open AND EXISTS (SELECT b.price FROM bids b WHERE b.auction = a.id)
  AND NOT (EXISTS (SELECT 1 FROM bids c WHERE c.auction = a.id AND c.kind = 'void')) AND a.seller = 7;
SELECT b.auction FROM bids b WHERE EXISTS (SELECT 1 FROM bids other WHERE other.bidder = b.bidder);
