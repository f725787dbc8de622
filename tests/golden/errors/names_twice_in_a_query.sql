-- negative: an alias twice; two output columns of one name; EXISTS that takes an outer alias
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT s.a FROM s, s;
SELECT x.a FROM s AS x, t AS X;
SELECT s.a AS n, t.a AS N FROM s, t;
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM s WHERE s.a = 1);
