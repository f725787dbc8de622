-- negative: explode, LATERAL VIEW, table functions, VALUES, PIVOT, TABLESAMPLE
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT explode(split(b, ',')) AS x FROM s;
SELECT a FROM s LATERAL VIEW explode(split(b, ',')) v AS x;
SELECT id FROM range(10);
SELECT a FROM VALUES (1) AS v(a);
SELECT a FROM s PIVOT (sum(c) FOR b IN ('x'));
SELECT a FROM s TABLESAMPLE (10 PERCENT);
SELECT a FROM LATERAL s;
SELECT a FROM UNNEST(array(1));
SELECT s.a, x.y FROM s, LATERAL (SELECT s.a * 2 AS y) AS x;
SELECT s.a FROM s LATERAL VIEW explode(split(b, ',')) v AS x JOIN t ON t.a = s.a;
SELECT a FROM s UNPIVOT (v FOR k IN (a, c));
SELECT a FROM s UNION ALL VALUES (1), (2);
SELECT s.a FROM s JOIN (VALUES (1), (1, 2)) AS v(a) ON v.a = s.a;
SELECT s.a FROM s JOIN (VALUES (NULL)) AS v(a) ON v.a = s.a;
SELECT s.a FROM s JOIN (VALUES (1)) AS v(a, b) ON v.a = s.a;
