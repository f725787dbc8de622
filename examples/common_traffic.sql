-- check: bounded
-- The traffic common to three links, minute by minute (k-constraints, section 1.1): no packet is joined to be counted.
CREATE STREAM customer (pid BIGINT, size BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS)
  USING parquet OPTIONS (path 'data/customer');

CREATE STREAM backbone (pid BIGINT, size BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS)
  USING parquet OPTIONS (path 'data/backbone');

CREATE STREAM outgoing (pid BIGINT, size BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS)
  USING parquet OPTIONS (path 'data/outgoing');

CREATE SINK traffic USING parquet OPTIONS (path 'out/traffic');

INSERT INTO traffic
SELECT window(c.ts, '1 minute').start AS minute, count(*) AS packets, sum(c.size) AS bytes
FROM customer [RANGE 10 MINUTES] AS c, backbone [RANGE 10 MINUTES] AS b, outgoing [RANGE 10 MINUTES] AS o
WHERE c.pid = b.pid AND b.pid = o.pid
GROUP BY window(c.ts, '1 minute');
