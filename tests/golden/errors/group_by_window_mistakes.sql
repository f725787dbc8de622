-- negative: window(…) over no time, of no length, of an unknown unit
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT count(*) AS n FROM s GROUP BY window(b, '5 minutes');
SELECT count(*) AS n FROM s GROUP BY window(ts, '0 minutes');
SELECT count(*) AS n FROM s GROUP BY window(ts, '5 fortnights');
SELECT count(*) AS n FROM s GROUP BY window(ts, 300);
SELECT count(*) AS n FROM s GROUP BY window(ts, '10 minutes', '5 minutes');
SELECT window(ts, '1 minute') AS w, count(*) AS n FROM s GROUP BY window(ts, '2 minutes');
SELECT window.start AS w FROM s;
SELECT count(*) AS n FROM s GROUP BY window(a, '5 minutes');
SELECT count(*) AS n FROM s GROUP BY window(ts, '5 minutes', '10 minutes');
SELECT count(*) AS n FROM s GROUP BY window(ts, '5 minutes', '1 minute', '1 minute');
SELECT count(*) AS n FROM s GROUP BY window(ts, '5 minutes', '0 minutes');
SELECT count(*) AS n FROM s GROUP BY window(ts, '5 minutes', 3);
SELECT DISTINCT a, session_window(ts, '5 minutes').start AS w FROM s;
