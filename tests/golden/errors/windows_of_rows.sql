-- negative: windows of rows that no expression says, windows of windows that these do not hold whole, of several times
CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM r (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT w.start AS since, count(*) AS n FROM (SELECT window(ts, '10 minutes', '5 minutes') AS w, k FROM s) GROUP BY w.start;
SELECT w, count(*) AS n FROM (SELECT session_window(ts, '10 minutes') AS w, k FROM s) GROUP BY w;
SELECT window(w, '1 hour') AS h, count(*) AS n FROM (SELECT window(ts, '7 minutes') AS w, k FROM s) GROUP BY window(w, '1 hour');
SELECT window_time(w) AS t FROM (SELECT window(ts, '7 minutes') AS w, count(*) AS n FROM s GROUP BY window(ts, '7 minutes'));
SELECT window(coalesce(s.ts, r.ts), '1 minute') AS w, count(*) AS n FROM s FULL JOIN r ON s.k = r.k AND s.ts = r.ts GROUP BY 1;
