-- negative: what a declaration says of a view must fit its columns, their types, its keys and its event time.
CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE TABLE kinds (id BIGINT) USING parquet OPTIONS (path 'kinds');
CREATE STREAM asks (
  auction STRING, ts TIMESTAMP, EVENT TIME ts,
  FOREIGN KEY (auction) REFERENCES best (auction),
  FOREIGN KEY (auction) REFERENCES best,
  FOLLOWS best (acution) ON (auction) WITHIN 1 SECOND,
  COOCCURS (auction) AND of_kinds (id)
);
CREATE VIEW best (COOCCURS (auction) AND timeless (auction) WINDOW [0, 5 SECONDS]) AS
SELECT window(ts, '1 minute').end AS until, auction, max(price) AS most
FROM bids GROUP BY auction, window(ts, '1 minute');
CREATE VIEW timeless AS SELECT auction FROM bids;
CREATE VIEW named (COOCCURS (name) AND best (auction)) AS SELECT CAST(auction AS STRING) AS name, ts FROM bids;
CREATE VIEW of_kinds AS SELECT id FROM kinds;
CREATE VIEW other (STREAM KEY (price) SPANS unclear) AS SELECT price FROM bids;
CREATE VIEW unclear AS SELECT my_own(price) AS price FROM bids;
SELECT auction FROM best;
