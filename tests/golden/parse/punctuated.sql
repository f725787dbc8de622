-- positive: PUNCTUATED ON with WHEN, LIFESPAN and ON VIOLATION, in that order
CREATE STREAM a (x INT, kind STRING, PUNCTUATED ON (x) WHEN kind = 'closed');
CREATE STREAM b (
  x INT, y INT, kind STRING, closed BOOLEAN, ts TIMESTAMP, EVENT TIME ts,
  PUNCTUATED ON (x, y) WHEN kind = 'closed' AND y > 3 LIFESPAN 5 HOURS ON VIOLATION FAIL,
  PUNCTUATED ON (x) WHEN closed,
  PUNCTUATED ON (y) WHEN kind LIKE 'c%' OR kind IS NULL
);
