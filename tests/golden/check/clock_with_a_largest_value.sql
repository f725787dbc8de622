-- negative: a clock that has a largest value never passes it, so a band or a window over it bounds nothing
CREATE STREAM orders (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM trial (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS,
  CHECK (ts < TIMESTAMP '2025-01-01 00:00:00')
);
SELECT o.id FROM orders AS o, trial AS t WHERE o.id = t.id AND t.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 5 MINUTES;
SELECT DISTINCT id, ts FROM trial;
