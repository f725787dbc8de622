-- negative: what is declared of a view, and no input could keep beside what follows from below, or beside the rest.
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM auctions (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (id),
  COOCCURS (id) AND late (auction) WINDOW [0, 1 MINUTE]
);
CREATE VIEW dear (CHECK (auction > 0), CHECK (price < 3)) AS SELECT auction, price, ts FROM bids WHERE price > 5;
CREATE VIEW neither (CHECK (price < 3), CHECK (price > 5)) AS SELECT auction, price, ts FROM bids;
CREATE VIEW unknown (CHECK (price IS NULL)) AS SELECT auction, price, ts FROM dear;
CREATE VIEW late (
  FOREIGN KEY (auction) REFERENCES auctions WINDOW [1 SECOND, 1 HOUR],
  FOLLOWS auctions (id) ON (auction) WITHIN 1 SECOND,
  COOCCURS (auction) AND bids (auction) WINDOW [-5 SECONDS, 0],
  COOCCURS (auction, price) AND bids (auction, price) WINDOW [1 SECOND, 5 SECONDS]
) AS SELECT auction, price, ts FROM bids;
SELECT auction FROM late;
