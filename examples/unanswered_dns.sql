-- check: bounded
-- DNS requests that nobody answered within 5 seconds. The resolver answers in the order of its own clock, at most a
-- second late, so a request without an answer is certain 5 seconds on, and never taken back.
CREATE STREAM requests (
  id BIGINT, client STRING, name STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/dns_requests');

CREATE STREAM answers (
  id BIGINT, client STRING, code INT, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/dns_answers');

CREATE SINK unanswered USING parquet OPTIONS (path 'out/unanswered');

INSERT INTO unanswered
SELECT r.id, r.client, r.name
FROM requests AS r
WHERE NOT EXISTS (
  SELECT 1 FROM answers AS a
  WHERE a.id = r.id AND a.client = r.client
    AND a.ts BETWEEN r.ts AND r.ts + INTERVAL 5 SECONDS);
