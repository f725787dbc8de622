-- negative: windows of rows that no expression says, window_time of what is no window, windows of several times beside no groups
CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM r (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT w.start AS since, count(*) AS n FROM (SELECT window(ts, '10 minutes', '5 minutes') AS w, k FROM s) GROUP BY w.start;
SELECT w, count(*) AS n FROM (SELECT session_window(ts, '10 minutes') AS w, k FROM s) GROUP BY w;
SELECT window_time(ts) AS t, count(*) AS n FROM s GROUP BY window_time(ts);
SELECT window(coalesce(s.ts, r.ts), '1 minute') AS w, s.k FROM s FULL JOIN r ON s.k = r.k AND s.ts = r.ts;
SELECT window(coalesce(s.ts, r.ts), '1 minute') AS w, count(*) AS n
FROM s [RANGE 1 MINUTE] FULL JOIN r [RANGE 1 MINUTE] ON s.k = r.k GROUP BY 1;
