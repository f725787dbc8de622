-- check: bounded
-- Nothing says when a reading has met its last report, so a hard budget holds the state. The answer is then not exact.
CREATE STREAM readings (station STRING, celsius DOUBLE);
CREATE STREAM reports (station STRING, text STRING);

SELECT /*+ BUDGET(100000 ROWS), EVICT(prob) */ r.station, r.celsius, p.text
FROM readings AS r JOIN reports AS p ON r.station = p.station;
