-- check: unbounded
-- Unbounded on purpose: nothing says that the event times are ordered, so nothing says when a row may leave.
-- unbounded_fixed.sql is the same script with the two declarations that the report asks for.
CREATE STREAM orders (
  id BIGINT, customer STRING, ts TIMESTAMP,
  EVENT TIME ts
);

CREATE STREAM payments (
  order_id BIGINT, amount DECIMAL(12,2), ts TIMESTAMP,
  EVENT TIME ts
);

SELECT o.id, o.customer, p.amount
FROM orders AS o JOIN payments AS p ON p.order_id = o.id
WHERE p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR;
