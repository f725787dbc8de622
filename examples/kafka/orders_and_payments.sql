-- check: bounded
-- Orders and payments of two topics, matched within an hour, into a third. The partitions are parts: each is in order
-- within 5 seconds, and one that lies 2 hours behind the others no longer holds them back. `make kafka-demo` runs it.
CREATE STREAM orders (
  id BIGINT, item STRING, price DECIMAL(9,2), ts TIMESTAMP,
  _partition INT, _offset BIGINT,                    -- of the record itself, not of its value
  EVENT TIME ts IDLE AFTER 2 HOURS,
  ORDERED BY ts WITHIN 5 SECONDS,
  PRIMARY KEY (id),
  ON MALFORMED QUARANTINE
) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'localhost:9092', subscribe 'orders', startingOffsets 'earliest', maxOffsetsPerTrigger '20000'
);

CREATE STREAM payments (
  order_id BIGINT, method STRING, ts TIMESTAMP,
  EVENT TIME ts IDLE AFTER 2 HOURS,
  ORDERED BY ts WITHIN 5 SECONDS
) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'localhost:9092', subscribe 'payments', startingOffsets 'earliest', maxOffsetsPerTrigger '20000'
);

CREATE SINK paid USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'localhost:9092', topic 'paid', 'key.columns' 'id'
);

INSERT INTO paid
SELECT o.id, o.item, o.price, p.method, o._partition AS part, o._offset AS at, p.ts AS paid_at
FROM orders AS o, payments AS p
WHERE o.id = p.order_id AND p.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR;
