-- positive: sessions, sets of keys, values picked, collected and counted, items that name others
CREATE STREAM s (a INT, b STRING, c BIGINT, ts TIMESTAMP, EVENT TIME ts, ARRIVES BY c, ORDERED BY ts WITHIN 1 MINUTE);
SELECT a, session_window(ts, '1 hour 30 minutes').start AS since, session_window.end AS until, session_window AS whole
FROM s GROUP BY a, session_window(ts, '90 minutes');
SELECT a, b, count(*) AS n FROM s GROUP BY window(ts, '1 week'), ROLLUP (a, b);
SELECT a, b, upper(b) AS u, grouping(a) AS g, grouping_id() AS i FROM s GROUP BY CUBE (a, b);
SELECT a, c % 2 AS odd, sum(c) AS t FROM s GROUP BY GROUPING SETS ((a, c % 2), a, ()) HAVING t > 3;
SELECT a, b FROM s GROUP BY a, b WITH ROLLUP;
SELECT max_by(a, c) AS m, min_by(b, c) FILTER (WHERE a > 1) AS o, first(a) AS f, last(b) IGNORE NULLS AS l,
  collect_list(a) AS x, collect_set(DISTINCT b) AS y, array_agg(c) FILTER (WHERE a > 1) AS z,
  percentile(c, 0.9) AS p, count(DISTINCT a, b) AS d
FROM s;
SELECT a + 1 AS x, x * 2 AS y, x + y AS z FROM s;
SELECT b, sum(c) AS t, t / 2 AS half FROM s GROUP BY b;
