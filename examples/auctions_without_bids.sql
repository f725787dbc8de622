-- check: bounded
-- Every auction with its bids; one that closed without a bid has NULLs. No clock is needed: the auctioneer says when
-- an auction is closed, and that punctuation makes it certain.
CREATE STREAM auctions (
  id BIGINT, seller BIGINT,
  PRIMARY KEY (id)
) USING parquet OPTIONS (path 'data/opened_auctions');

CREATE STREAM bids (
  auction BIGINT, price BIGINT, kind STRING,
  FOREIGN KEY (auction) REFERENCES auctions (id),
  PUNCTUATED ON (auction) WHEN kind = 'closed'
) USING parquet OPTIONS (path 'data/bids_and_closes');

CREATE SINK sold_or_not USING parquet OPTIONS (path 'out/sold_or_not');

INSERT INTO sold_or_not
SELECT a.id, a.seller, b.price
FROM auctions AS a LEFT JOIN bids AS b ON a.id = b.auction;
