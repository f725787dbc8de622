-- positive: two key classes make two axes of cells; each stream is copied along the one that it lacks
CREATE STREAM people (id BIGINT, name STRING);
CREATE STREAM auctions (id BIGINT, seller BIGINT);
CREATE STREAM bids (auction BIGINT, price BIGINT);
SELECT p.name, b.price FROM people [ROWS 100] AS p, auctions [ROWS 200] AS a, bids [ROWS 300] AS b
WHERE p.id = a.seller AND a.id = b.auction;
