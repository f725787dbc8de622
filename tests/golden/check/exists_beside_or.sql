-- positive: a query that asks beside OR is told of by its own aliases, not by the cases that it is cut into
CREATE STREAM orders (id BIGINT, c BIGINT, amount BIGINT, ts BIGINT, EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 2);
CREATE STREAM refunds (oid BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
CREATE SINK out USING parquet OPTIONS (path 'out');
INSERT INTO out
SELECT o.id, o.amount FROM orders AS o
WHERE o.amount > 100 OR EXISTS (SELECT 1 FROM refunds AS r WHERE r.oid = o.id AND r.ts BETWEEN o.ts AND o.ts + 5);
