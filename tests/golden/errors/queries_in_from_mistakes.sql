-- negative: queries in FROM: columns that are not there, names that are not given, hints, parentheses with a name
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT x.b FROM (SELECT a FROM s) AS x;
SELECT x.a FROM (SELECT a FROM s) AS x (p, q);
SELECT s.a FROM s JOIN (SELECT /*+ BUDGET(10 ROWS) */ a FROM t) AS x ON s.a = x.a;
SELECT x.a FROM (s JOIN t ON s.a = t.a) AS x;
SELECT s.a FROM s JOIN (SELECT nosuch FROM t) AS x ON s.a = x.a;
SELECT x.m FROM s LEFT JOIN (SELECT DISTINCT a, from_json(d, 'x INT') AS m FROM t) AS x ON s.a = x.a;
SELECT s.a FROM s JOIN (SELECT a FROM t [ROWS 10]) AS s ON s.a = s.a;
