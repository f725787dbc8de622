-- negative: a subquery in FROM, and parentheses there
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT x.a FROM (SELECT a FROM s) AS x;
SELECT s.a FROM s JOIN (SELECT a FROM t) AS x ON s.a = x.a;
SELECT s.a FROM (s JOIN t ON s.a = t.a);
