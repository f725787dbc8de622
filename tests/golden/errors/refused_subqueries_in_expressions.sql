-- negative: NOT IN with NULLs, IN of another number of columns, a scalar subquery; EXISTS and IN in ON, inside another EXISTS, beside hints, of what is random, in too many cases
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM s WHERE a NOT IN (SELECT a FROM t);
SELECT a FROM s WHERE a IS NOT NULL AND a NOT IN (SELECT a FROM t);
SELECT a FROM s WHERE a IN (SELECT a, d FROM t);
SELECT a FROM s WHERE b IN (SELECT a FROM t);
SELECT a FROM s WHERE a = (SELECT max(a) FROM t);
SELECT (SELECT 1 FROM t) AS x FROM s;
SELECT s.a FROM s JOIN t ON EXISTS (SELECT 1 FROM t AS u WHERE u.a = s.a);
SELECT s.a FROM s JOIN t ON t.a = s.a AND (s.ok OR EXISTS (SELECT 1 FROM t AS u WHERE u.a = s.a));
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND (t.d = 'x' OR EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.a)));
SELECT /*+ BUDGET(10 ROWS) */ a FROM s WHERE ok OR EXISTS (SELECT 1 FROM t WHERE t.a = s.a);
SELECT a FROM s WHERE rand() < 0.5 OR EXISTS (SELECT 1 FROM t WHERE t.a = s.a);
SELECT a IN (SELECT a FROM t) AS x FROM s;
SELECT a FROM s WHERE ok OR a NOT IN (SELECT a FROM t);
SELECT a FROM s WHERE ok OR nope OR EXISTS (SELECT 1 FROM t WHERE t.a = s.nope);
SELECT a, count(*) AS n, EXISTS (SELECT 1 FROM t WHERE t.a = s.a) AS x FROM s GROUP BY a;
SELECT EXISTS (SELECT 1 FROM t WHERE t.a = s.a) AS x, EXISTS (SELECT 2 FROM t WHERE t.a = s.a) AS y, EXISTS (SELECT 3 FROM t WHERE t.a = s.a) AS z, EXISTS (SELECT 4 FROM t WHERE t.a = s.a) AS w FROM s;
