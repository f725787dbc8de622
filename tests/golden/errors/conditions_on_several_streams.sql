-- negative: conditions on several streams that only Spark evaluates, where they decide which rows match
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM u (a INT, d STRING);
SELECT s.a FROM s LEFT JOIN t ON s.a = t.a AND s.b LIKE t.d;
SELECT s.a, t.d FROM s FULL JOIN t ON levenshtein(s.b, t.d) < 3;
SELECT s.a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND contains(s.b, t.d));
SELECT s.a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND months_between(t.ts, s.ts) < 1);
SELECT s.a FROM s LEFT JOIN t ON s.a = t.a AND rand() < s.c / t.a;
SELECT s.a FROM s, t WHERE s.b = t.a;
