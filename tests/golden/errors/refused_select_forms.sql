-- negative: * EXCEPT of what is not there, parameters, a program for each row, SELECT without FROM, DISTINCT ON, what other systems write behind *, IDENTIFIER, BETWEEN SYMMETRIC, json_tuple, stack
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT * EXCEPT (d) FROM s;
SELECT * EXCEPT a FROM s;
SELECT * EXCLUDE (a) FROM s;
SELECT a FROM s WHERE a = :p;
SELECT a FROM s WHERE a = ?;
SELECT 1 AS x;
SELECT TOP 3 a FROM s;
SELECT TRANSFORM(a) USING 'cat' AS x FROM s;
SELECT DISTINCT ON (a) a, b FROM s;
SELECT * REPLACE (a + 1 AS a) FROM s;
SELECT * ILIKE 'a%' FROM s;
SELECT * RENAME (a AS x) FROM s;
SELECT IDENTIFIER('a') AS x FROM s;
SELECT a FROM s WHERE a BETWEEN SYMMETRIC 2 AND 1;
SELECT json_tuple(b, 'x') AS x FROM s;
SELECT stack(2, a, c) AS x FROM s;
