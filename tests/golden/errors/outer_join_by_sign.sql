-- negative: the outer join of Oracle, which Spark does not read, is refused with the join to write
CREATE STREAM a (k BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM b (k BIGINT, y BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT a.k FROM a, b WHERE a.x = b.y(+) AND a.ts = b.ts(+);
SELECT a.k FROM a, b WHERE a.x (+) = b.y;
SELECT a.k FROM a, b WHERE b.y( + ) > 3;
