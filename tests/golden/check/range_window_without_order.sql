-- negative: a RANGE window bounds nothing while the other stream's event time may stand still
CREATE STREAM auctions (id BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts);
SELECT a.id, b.price FROM auctions [RANGE 10 MINUTES] AS a, bids [RANGE 10 MINUTES] AS b WHERE a.id = b.auction;
