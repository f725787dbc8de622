-- positive: aggregates, groups by alias, number, expression and window
CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT upper(b) AS u, a, window.end AS e, count(*) AS n, count(DISTINCT b) AS d, sum(a + 1) AS t FROM s GROUP BY u, 2, window(ts, '5 minutes');
SELECT DISTINCT b FROM s;
