-- negative: GROUP BY CUBE, ROLLUP, GROUPING SETS, sessions of no constant gap or beside other windows
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a, count(*) AS n FROM s GROUP BY CUBE (a);
SELECT a, count(*) AS n FROM s GROUP BY ROLLUP (a);
SELECT a, count(*) AS n FROM s GROUP BY GROUPING SETS ((a), ());
SELECT a, count(*) AS n FROM s GROUP BY a WITH ROLLUP;
SELECT a, b, count(*) AS n FROM s GROUP BY a, b WITH CUBE;
SELECT a, count(*) AS n FROM s GROUP BY a GROUPING SETS ((a), ());
SELECT count(*) AS n FROM s GROUP BY session_window(ts, c);
SELECT count(*) AS n FROM s GROUP BY session_window(ts, CASE WHEN a = 1 THEN '1 hour' ELSE '5 minutes' END);
SELECT count(*) AS n FROM s GROUP BY session_window(ts, '5 minutes', '1 minute');
SELECT count(*) AS n FROM s GROUP BY session_window(ts, 'a while');
SELECT count(*) AS n FROM s GROUP BY session_window(ts, '0 minutes');
SELECT count(*) AS n FROM s GROUP BY session_window(b, '5 minutes');
SELECT count(*) AS n FROM s GROUP BY session_window(ts, '5 minutes'), window(ts, '1 hour');
SELECT session_window(ts, '5 minutes') AS w FROM s;
SELECT window(ts, '5 minutes').start AS since FROM s;
SELECT grouping(a) AS g FROM s GROUP BY a;
