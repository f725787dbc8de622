-- positive: topics of Kafka have parts, the clock of each stream is that of its slowest partition
CREATE STREAM orders (
  id BIGINT, ts TIMESTAMP, _partition INT, EVENT TIME ts IDLE AFTER 10 MINUTES, ORDERED BY ts WITHIN 5 SECONDS
) USING kafka OPTIONS ('kafka.bootstrap.servers' 'localhost:9092', subscribe 'orders');
CREATE STREAM payments (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS
) USING kafka OPTIONS ('kafka.bootstrap.servers' 'localhost:9092', subscribe 'payments');

SELECT o.id, o._partition, p.ts FROM orders AS o, payments AS p
WHERE o.id = p.id AND p.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR;
