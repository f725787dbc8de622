-- positive: counts and sums along the tree, by the latest row, and joined first; running groups and a window of time
CREATE STREAM s (a BIGINT, b BIGINT, x DOUBLE, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM t (c BIGINT, y BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM u (d BIGINT, e BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);

-- MEMORY, Example 8.7
SELECT s.a, t.c, sum(s.b) AS total FROM s, t WHERE s.a < 20 AND t.c < 20 AND s.a > 10 AND t.c > 10 GROUP BY s.a, t.c;

-- KMON, section 1.1
SELECT sum(s.b) AS total FROM s [RANGE 10 MINUTES], t [RANGE 10 MINUTES], u [RANGE 10 MINUTES]
WHERE s.a = t.c AND t.c = u.d;

SELECT window(s.ts, '5 minutes') AS w, count(DISTINCT t.y) AS kinds, avg(s.b) AS mean
FROM s, t WHERE s.a = t.c AND t.ts - s.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 2 MINUTES
GROUP BY window(s.ts, '5 minutes');

SELECT count(*) AS n FROM s [ROWS 100], t [ROWS 100] WHERE s.a = t.c;

SELECT sum(s.x) AS total FROM s [RANGE 10 MINUTES], t [RANGE 10 MINUTES], u [RANGE 10 MINUTES]
WHERE s.a = t.c AND t.y = u.d AND u.e = s.b;
