-- negative: items of SELECT that name others: after them, at random, without a name of their own, outside of SELECT
CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT rand() AS r, r * 2 AS y FROM s;
SELECT a AS x, x + 1 FROM s;
SELECT a AS x FROM s WHERE x > 1;
SELECT x + 1 AS y, a AS x FROM s;
SELECT sum(a) AS x, x + z AS y FROM s;
SELECT a AS x, a AS x, x + 1 AS y FROM s;
