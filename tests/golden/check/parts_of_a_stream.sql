-- positive: orders hold within each part. A clock without IDLE AFTER is held back by a part that falls silent; clusters over parts
-- close nothing; rows are counted as they are read.
CREATE STREAM orders (
  id BIGINT, shop INT, ts TIMESTAMP,
  EVENT TIME ts, PARTS BY shop, ORDERED BY ts WITHIN 5 SECONDS
);
CREATE STREAM payments (
  id BIGINT, bank STRING, ts TIMESTAMP,
  EVENT TIME ts IDLE AFTER 10 MINUTES, PARTS BY bank, ORDERED BY ts WITHIN 5 SECONDS,
  CLUSTERED BY id WITHIN 100 ROWS
);
CREATE STREAM shipments (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, FOLLOWS orders (id) ON (id) WITHIN 50 ROWS
);

SELECT o.id, p.bank FROM orders AS o, payments AS p
WHERE o.id = p.id AND p.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR;

SELECT o.id, s.ts FROM orders [ROWS 100] AS o, shipments AS s WHERE o.id = s.id;
