-- positive: a bare SELECT is query_N; a second query into a sink is named after it
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK out USING parquet OPTIONS (path 'out');
SELECT id FROM auctions;
INSERT INTO out SELECT id FROM auctions;
INSERT INTO OUT SELECT auction AS id FROM bids;
SELECT auction FROM bids;
INSERT INTO out SELECT bidder AS id FROM bids WHERE bidder > 0
