-- positive: NOT IN of pairs and of expressions that may be NULL, and IN as a value, which is NULL where nobody knows
CREATE STREAM orders (id BIGINT, item STRING, amount BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, CHECK (id IS NOT NULL));
CREATE STREAM refunds (order_id BIGINT, item STRING, amount BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE SINK kept USING parquet OPTIONS (path 'out/kept');
CREATE SINK told USING parquet OPTIONS (path 'out/told');
INSERT INTO kept
SELECT o.id FROM orders AS o
WHERE (o.item, o.amount + 1) NOT IN (SELECT r.item, r.amount FROM refunds AS r WHERE r.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE);
INSERT INTO told
SELECT o.id, o.item IN (SELECT r.item FROM refunds AS r WHERE r.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE) AS refunded
FROM orders AS o;
