-- positive: QUALIFY, WINDOW, * EXCEPT, VALUES, listagg and percentile_cont, printed as what they stand for
CREATE STREAM s (a INT, b STRING, c BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT a, b FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY a, window(ts, '5 minutes') ORDER BY c DESC) = 1;
SELECT a, row_number() OVER w AS rn FROM s WINDOW w AS (PARTITION BY a, date_trunc('HOUR', ts) ORDER BY c) QUALIFY rn <= 2;
SELECT * EXCEPT (b, ts) FROM s;
SELECT s.a, v.y FROM s LEFT JOIN (VALUES (1, 'x'), (2, NULL)) AS v (x, y) ON v.x = s.a;
SELECT a, listagg(DISTINCT b, '; ') WITHIN GROUP (ORDER BY b DESC) AS bs, percentile_cont(0.9) WITHIN GROUP (ORDER BY c) AS most
FROM s GROUP BY a, window(ts, '5 minutes');
SELECT a, c FROM (SELECT a, ts FROM s) JOIN (SELECT a, c, ts FROM s) USING (a);
