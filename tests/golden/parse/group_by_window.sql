-- positive: window(ts, …) groups by tumbling time; its ends by name
CREATE STREAM auctions (id BIGINT, seller BIGINT, open BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK out USING parquet;
INSERT INTO out SELECT window, auction, count(*) AS n FROM bids GROUP BY window(ts, '5 minutes'), auction;
INSERT INTO out SELECT window.start, window.end AS til, count(*) AS n FROM bids GROUP BY window(ts, '1 hour');
INSERT INTO out SELECT window(ts, '30 SECONDS').start AS at, sum(price) AS total FROM bids GROUP BY window(ts, '30 seconds');
