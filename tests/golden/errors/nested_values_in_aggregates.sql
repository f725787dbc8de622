-- negative: structs and arrays where an order, or an equality, decides
CREATE STREAM s (a INT, at STRUCT<x: INT, y: INT>, list ARRAY<INT>, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT window(ts, '1 hour').end AS hour, max(struct(ts, a)).a AS latest FROM s GROUP BY window(ts, '1 hour');
SELECT window(ts, '1 hour').end AS hour, max_by(a, struct(ts, a)) AS latest FROM s GROUP BY window(ts, '1 hour');
SELECT window(ts, '1 hour').end AS hour, max_by(a, at) AS latest, min(list) AS least FROM s GROUP BY window(ts, '1 hour');
SELECT window(ts, '1 hour').end AS hour, count(DISTINCT at) AS n, count(DISTINCT a, at) AS m FROM s GROUP BY window(ts, '1 hour');
