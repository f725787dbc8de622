-- negative: a join on keys alone is undecided, primary keys or not; the report says what to declare
CREATE STREAM auctions (id BIGINT, seller BIGINT, PRIMARY KEY (id));
CREATE STREAM bids (auction BIGINT, price BIGINT);
SELECT a.seller, b.price FROM auctions AS a, bids AS b WHERE a.id = b.auction;
