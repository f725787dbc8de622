-- positive: a window of time beside no groups is a column with a clock: grouped by above, compared, of a union
CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM r (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT window(ts, '10 minutes') AS w, k FROM s;
CREATE VIEW windowed AS SELECT *, window(ts, '10 minutes') AS w FROM s;
SELECT w.start AS since, k, count(*) AS n FROM windowed GROUP BY w, k;
SELECT x.k, y.ts FROM windowed x LEFT JOIN (SELECT k, ts, window(ts, '10 minutes') AS w FROM r) y ON x.k = y.k AND x.w = y.w;
SELECT w, k FROM windowed EXCEPT SELECT window(ts, '10 minutes'), k FROM r;
SELECT w, count(*) AS n FROM (SELECT w FROM windowed UNION ALL SELECT window(ts, '10 minutes') FROM r) GROUP BY w;
WITH p AS (SELECT w, k, count(*) AS n FROM windowed GROUP BY w, k) SELECT window(w, '1 hour') AS h, max(n) AS most FROM p GROUP BY 1;
