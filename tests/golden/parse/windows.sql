-- positive: a stream's window: ROWS and RANGE, before its alias, with AS or without
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a.id, b.price, bids.price AS other FROM auctions [RANGE 10 MINUTES] AS a, bids [ROWS 50000] b, bids [range 1.5 hours]
WHERE a.id = b.auction;
SELECT auctions.id FROM auctions [ROWS 1];
