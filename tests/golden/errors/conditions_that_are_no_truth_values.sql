-- negative: conditions that are numbers or texts; NOT IN over what an outer join may leave out; names twice
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts, CHECK (a IS NOT NULL));
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts, CHECK (a IS NOT NULL));
SELECT a FROM s WHERE a;
SELECT s.a FROM s JOIN t ON s.a = t.a AND s.a + t.a;
SELECT s.a FROM s LEFT JOIN t ON s.a = t.a AND 1.5;
SELECT s.a FROM s LEFT JOIN t ON s.a = t.a AND 'x';
SELECT b, count(*) AS n FROM s GROUP BY b HAVING count(*);
SELECT s.a FROM s LEFT JOIN t ON s.a = t.a WHERE t.a NOT IN (SELECT x.a FROM t AS x WHERE x.d = s.b);
WITH x AS (SELECT a FROM s), X AS (SELECT a FROM t) SELECT a FROM x;
SELECT x.p FROM (SELECT a, b FROM s) AS x (p, P);
SELECT p FROM (SELECT a AS p, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY a) AS rn FROM s) WHERE rn = 1.5;
