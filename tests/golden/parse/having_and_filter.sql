-- positive: HAVING, FILTER, count_if, truth values, GROUP BY ALL, keys inside of expressions
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT a, count(*) FILTER (WHERE b = 'x' AND c > 1) AS n, sum(c) + count(1) FILTER (WHERE ok) AS x
FROM s GROUP BY a;
SELECT a, count(DISTINCT c) FILTER (WHERE ok) AS n FROM s GROUP BY a;
SELECT count_if(a > 1) AS n, every(ok) AS e, any(a > 2) AS f, bool_or(ok) FILTER (WHERE a = 1) AS g,
  some(coalesce(ok, false)) AS h, mean(c) AS m FROM s;
SELECT a, 2 * count(*) AS n, upper(b) AS u FROM s GROUP BY ALL HAVING n > 3 AND sum(c) < 10 AND u <> 'x' OR s.a IS NULL;
SELECT concat(upper(b), '!') AS loud FROM s GROUP BY upper(b) HAVING upper(b) LIKE ANY ('A%', 'B%') AND loud <> 'A!';
SELECT window(ts, '5 minutes').start AS w, 1 + count(1) FILTER (WHERE ok) AS n FROM s GROUP BY window(ts, '5 minutes')
HAVING max(c) > 7 AND window.end > TIMESTAMP '2024-01-01' AND w IS NOT NULL;
SELECT max(a) AS b FROM s HAVING b > 3;
