-- negative: windows of time between streams that have no event time, or different ones
CREATE STREAM plain (id INT);
CREATE STREAM ticks (id INT, n INT, EVENT TIME n);
CREATE STREAM s (
  a INT, ts TIMESTAMP, EVENT TIME ts,
  COOCCURS (a) AND plain (id) WINDOW [0, 5 SECONDS],
  FOLLOWS plain (id) ON (a) WITHIN 5 SECONDS,
  COOCCURS (a) AND ticks (id) WINDOW [0, 5 SECONDS],
  COOCCURS (a) AND s (a) WINDOW [0, 5]
);
CREATE STREAM u (a INT, FOREIGN KEY (a) REFERENCES s (a) WINDOW [0, 1 DAY], PUNCTUATED ON (a) WHEN a > 1 LIFESPAN 5 HOURS);
SELECT p.id FROM plain [RANGE 5 SECONDS] AS p;
SELECT t.id FROM ticks [RANGE 5 SECONDS] AS t, s [RANGE 5 SECONDS];
SELECT t.id FROM ticks [RANGE 5] AS t, s [RANGE 5 SECONDS];
