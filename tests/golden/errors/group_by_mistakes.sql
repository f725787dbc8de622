-- negative: columns neither grouped nor aggregated; aggregates out of place; numbers that name nothing
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a, count(*) AS n FROM s;
SELECT a, b, max(c) AS m FROM s GROUP BY a;
SELECT count(*) + 1 AS n FROM s;
SELECT a FROM s WHERE count(*) > 1;
SELECT max(c) AS m FROM s GROUP BY m;
SELECT a, count(*) AS n FROM s GROUP BY 3;
SELECT DISTINCT a, count(*) AS n FROM s GROUP BY a;
SELECT *, count(*) AS n FROM s GROUP BY a;
SELECT sum(*) AS n FROM s;
SELECT max(a, c) AS n FROM s;
SELECT sum(max(a)) AS n FROM s;
SELECT median() AS n FROM s;
