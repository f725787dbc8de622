-- positive: parts, and how long a silent one holds the clock back
CREATE STREAM orders (
  id BIGINT, ts TIMESTAMP, shop INT,
  parts by shop, event time ts idle after 10 minutes, ORDERED BY ts WITHIN 5 SECONDS
);
CREATE STREAM ticks (parts INT, idle INT, n BIGINT, EVENT TIME n IDLE AFTER 100, PARTS BY parts);
SELECT o.id FROM orders AS o, ticks AS t WHERE o.id = t.n;
