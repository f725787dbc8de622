-- negative: declarations that cannot be
CREATE STREAM s (
  a BIGINT, name STRING, ts TIMESTAMP, tt TIMESTAMP,
  EVENT TIME ts, EVENT TIME tt,
  ORDERED BY name WITHIN 3 SECONDS,
  COOCCURS (a) AND t (b) WINDOW [5 SECONDS, 0],
  FOLLOWS nowhere (id) ON (a)
);
CREATE STREAM t (b STRING, ts TIMESTAMP, EVENT TIME ts, FOREIGN KEY (b) REFERENCES s (a));
