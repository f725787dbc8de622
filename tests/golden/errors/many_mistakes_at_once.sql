-- negative: all mistakes of a script at once, in the order of their places
CREATE STREAM auctions (
  id BIGINT, seller BIGNIT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3,
  PRIMARY KEY (idd),
);
CREATE STREAM bids (
  auction STRING, price BIGINT, ts TIMESTAMP, EVENT TIME ts,
  FOLLOWS auction (id) ON (auction) WITHIN 200 ROWS,
  COOCCURS (auction) AND items (id) WINDOW [5 SECONDS, -5 SECONDS],
  CHECK (prise > 0)
) USING parquet;
CREATE STREAM items (id BIGINT, ts TIMESTAMP, EVENT TIME ts, FOREIGN KEY (id) REFERENCES bids (auction));
CREATE SINK out USING parquet OPTIONS (path 'out');
INSERT INTO oot SELECT b.price FROM bids b, items i WHERE b.auction = i.id;
INSERT INTO out SELECT i.id, count(*) AS n FROM items i GROUP BY i.id HAVING count(*) > 3;
INSERT INTO out SELECT price, ts FROM bids, items WHERE price > 10 ORDER BY price;
SELEC id FROM items;
SELECT i.id, b.prize FROM items i JOIN bids b ON i.ts = b.price;
