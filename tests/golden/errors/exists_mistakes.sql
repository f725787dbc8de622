-- negative: EXISTS with several streams, with nothing that ties it, with clauses that mean nothing there
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t, s AS u WHERE t.a = u.a);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE s.a > 1);
SELECT a FROM s WHERE EXISTS (SELECT a FROM t WHERE t.a = s.a GROUP BY a);
SELECT a FROM s WHERE EXISTS (SELECT a FROM t WHERE t.a = s.a LIMIT 1);
SELECT a FROM s WHERE EXISTS (t);
SELECT a FROM s WHERE EXISTS (SELECT count(*) FROM t WHERE t.a = s.a);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a UNION ALL SELECT 1 FROM t WHERE t.d = s.b);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.a AND u.d = s.b));
SELECT a FROM s WHERE a IN (SELECT t.a FROM t WHERE t.d = s.b GROUP BY t.a);
SELECT a FROM s WHERE (SELECT count(*) FROM t WHERE t.a = s.a) > 1;
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.a));
SELECT a FROM s WHERE EXISTS (SELECT t.a FROM t WHERE t.a = s.a GROUP BY t.a HAVING count(*) > 2);
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a HAVING count(*) > 2);
SELECT p.a FROM (SELECT a, window(ts, '3 seconds') AS w FROM s) AS p WHERE EXISTS (SELECT 1 FROM (SELECT t.a, window(t.ts, '3 seconds') AS w FROM t JOIN s AS u ON t.a = u.a) AS q WHERE q.a = p.a AND q.w <=> p.w);
