-- check: bounded
-- unbounded.sql with the fix that its report gives: one ORDERED BY in each stream. WITHIN AUTO has the lateness learned
-- from the rows as they come: write it where you know it, e.g. WITHIN 30 SECONDS.
CREATE STREAM orders (
  id BIGINT, customer STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN AUTO
);

CREATE STREAM payments (
  order_id BIGINT, amount DECIMAL(12,2), ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN AUTO
);

SELECT o.id, o.customer, p.amount
FROM orders AS o JOIN payments AS p ON p.order_id = o.id
WHERE p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR;
