-- check: bounded
-- Every order, with its payment and its shipment where they come in time, and NULL where they do not.
CREATE STREAM orders (
  id BIGINT, customer STRING, ts TIMESTAMP,
  EVENT TIME ts,
  PRIMARY KEY (id),
  ORDERED BY ts WITHIN 1 MINUTE
);

CREATE STREAM payments (
  order_id BIGINT, amount DECIMAL(12,2), ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 MINUTE
);

CREATE STREAM shipments (
  order_id BIGINT, carrier STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 HOUR
);

SELECT o.id, o.customer, p.amount, s.carrier
FROM orders AS o
LEFT OUTER JOIN payments AS p
  ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR
LEFT OUTER JOIN shipments AS s
  ON s.order_id = o.id AND s.ts BETWEEN o.ts AND o.ts + INTERVAL 7 DAYS;
