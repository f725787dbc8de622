-- positive: each condition by its kind: comparison, bound, one of, difference, opaque
CREATE STREAM s (a INT, b STRING, ok BOOLEAN, d DATE, n BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a BIGINT, b STRING, n INT, ts TIMESTAMP, EVENT TIME ts);
SELECT s.a FROM s, t
WHERE s.a = t.a AND s.b <= t.b AND 3 < s.a AND s.a IN (1, 2, 3) AND s.ok AND NOT s.ok AND s.d = '2024-01-01'
  AND s.ts - t.ts <= INTERVAL 5 SECONDS AND s.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 2 HOURS
  AND s.n < t.n + 7 AND s.n - t.n BETWEEN 0 AND 10 AND s.b LIKE 'a%' AND (s.a = 1 OR s.b = 'x') AND s.ts - s.ts < INTERVAL 1 DAY
  AND rand() < s.a AND TRUE AND 1 = 1;
