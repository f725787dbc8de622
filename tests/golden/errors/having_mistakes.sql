-- negative: HAVING that names what is no group, twice, before GROUP BY, without a group
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
SELECT a, count(*) AS n FROM s GROUP BY a HAVING c > 1;
SELECT a, count(*) AS n FROM s GROUP BY a HAVING n > 1 HAVING a > 2;
SELECT a, count(*) AS n FROM s HAVING n > 1 GROUP BY a;
SELECT a FROM s HAVING a > 1;
SELECT a FROM s GROUP BY a HAVING unknown > 1;
SELECT a FROM s GROUP BY a HAVING sum(max(c)) > 1;
SELECT a FROM s GROUP BY a HAVING corr(a, c) > 1;
SELECT a FROM s GROUP BY a HAVING max(n) > 1;
