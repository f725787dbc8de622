-- check: bounded
-- The connections behind the counts of syn_without_fin.sql, one row each: answered within 5 seconds, and not closed
-- within 10 seconds of the answer.
CREATE STREAM syn (
  ip STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/syn');

CREATE STREAM synack (
  ip STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/synack');

CREATE STREAM fin (
  ip STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/fin');

CREATE SINK half_open USING parquet OPTIONS (path 'out/half_open');

INSERT INTO half_open
SELECT s.ip, s.ts, sa.ts AS answered
FROM syn AS s, synack AS sa
WHERE s.ip = sa.ip
  AND sa.ts >= s.ts
  AND sa.ts - s.ts <= INTERVAL 5 SECONDS
  AND NOT EXISTS (
    SELECT * FROM fin AS f
    WHERE sa.ip = f.ip AND f.ts >= sa.ts AND f.ts - sa.ts <= INTERVAL 10 SECONDS);
