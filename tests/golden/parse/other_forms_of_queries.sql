-- positive: FROM before SELECT, TABLE, VALUES that IN asks, LIMIT ALL, BY NAME and a stream in parentheses mean what SELECT says
CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK x USING parquet OPTIONS (path 'out/x');
FROM s JOIN t ON s.a = t.a AND s.ts = t.ts SELECT s.a, t.b WHERE s.a > 1;
TABLE s;
WITH w AS (FROM s SELECT a) TABLE w;
SELECT y.a FROM (s) AS y WHERE y.a IN (VALUES (1), (2)) LIMIT ALL;
INSERT INTO x BY NAME SELECT a FROM s;
INSERT INTO TABLE x TABLE t;
