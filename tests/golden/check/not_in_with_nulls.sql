-- positive: NOT IN over columns that may be NULL asks for a NULL as well, among the rows that a band of times ties to the row
CREATE STREAM orders (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM refunds (order_id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
SELECT o.id FROM orders AS o
WHERE o.id NOT IN (SELECT r.order_id FROM refunds AS r WHERE r.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE);
SELECT o.id FROM orders AS o
WHERE o.id IS NOT NULL AND o.id NOT IN (SELECT r.order_id FROM refunds AS r WHERE r.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE);
