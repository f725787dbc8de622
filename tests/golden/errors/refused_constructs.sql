-- negative: SQL that the language leaves out on purpose is named, with its place
CREATE STREAM s (a INT);
SELECT a FROM s ORDER BY a;
SELECT a FROM s LIMIT 3;
SELECT a FROM (SELECT a FROM s);
WITH x AS (SELECT a FROM s) SELECT a FROM x;
SELECT a FROM s UNION SELECT a FROM s;
SELECT a, count(*) AS n FROM s GROUP BY a HAVING count(*) > 1;
