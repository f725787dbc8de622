-- negative: a misspelt stream, column and alias each get the nearest name; all at once

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT a.idd FROM auctions AS a;
SELECT a.id FROM auctionz AS a;
SELECT x.id FROM auctions AS a;
