-- negative: GROUP BY CUBE, ROLLUP, GROUPING SETS, session_window
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a, count(*) AS n FROM s GROUP BY CUBE (a);
SELECT a, count(*) AS n FROM s GROUP BY ROLLUP (a);
SELECT a, count(*) AS n FROM s GROUP BY GROUPING SETS ((a), ());
SELECT a, count(*) AS n FROM s GROUP BY a WITH ROLLUP;
SELECT a, b, count(*) AS n FROM s GROUP BY a, b WITH CUBE;
SELECT a, count(*) AS n FROM s GROUP BY a GROUPING SETS ((a), ());
SELECT count(*) AS n FROM s GROUP BY session_window(ts, '5 minutes');
SELECT grouping(a) AS g FROM s GROUP BY a;
