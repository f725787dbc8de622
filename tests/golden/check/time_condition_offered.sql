-- negative: a key alone bounds nothing; a condition on the times would, and is offered before any promise
CREATE STREAM orders (id BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM payments (order_id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM refunds (order_id BIGINT, ts TIMESTAMP, EVENT TIME ts);
SELECT o.id, r.ts FROM orders AS o, payments AS p, refunds AS r
WHERE p.order_id = o.id AND r.order_id = o.id AND r.ts BETWEEN p.ts AND p.ts + INTERVAL 1 DAY;
