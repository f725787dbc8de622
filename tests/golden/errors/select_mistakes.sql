-- negative: SELECT: nothing, a comma too many, an expression without a name
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT FROM s;
SELECT a, FROM s;
SELECT log(a) FROM s;
SELECT a FROM s GROUP;
SELECT a AS FROM s;
SELECT a b c FROM s;
SELECT DISTINCT FROM s;
SELECT a WHERE a > 1;
