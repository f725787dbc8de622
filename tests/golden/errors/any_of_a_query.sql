-- negative: ANY, SOME and ALL of a query, which Spark does not have, are refused with what it has
CREATE STREAM a (k BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM b (k BIGINT, y BIGINT, ts TIMESTAMP, EVENT TIME ts);
SELECT k FROM a WHERE a.x = ANY (SELECT y FROM b WHERE b.ts = a.ts);
SELECT k FROM a WHERE a.x > ALL (SELECT y FROM b WHERE b.ts = a.ts) AND a.k = SOME (SELECT k FROM b);
