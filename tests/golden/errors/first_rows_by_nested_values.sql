-- negative: rows are put in no order by structs and arrays
CREATE STREAM s (a INT, at STRUCT<x: INT, y: INT>, list ARRAY<INT>, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT a FROM (SELECT a, ROW_NUMBER() OVER (PARTITION BY window(ts, '1 hour') ORDER BY at) AS rn FROM s) WHERE rn = 1;
SELECT a FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY window(ts, '1 hour') ORDER BY a, struct(ts, a) DESC) = 1;
SELECT a FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY window(ts, '1 hour') ORDER BY list) = 1;
