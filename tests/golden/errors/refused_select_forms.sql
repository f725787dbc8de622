-- negative: * EXCEPT of what is not there, parameters, a program for each row, SELECT without FROM
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
