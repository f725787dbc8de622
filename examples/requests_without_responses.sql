-- check: bounded
-- The first two queries of optimizing-away-joins: for every 5 minutes, the DNS requests without an answer, and the SYN
-- packets without a SYN-ACK, within 5 seconds. A window is emitted when the last of its requests is certain to have none.
CREATE STREAM requests (
  id BIGINT, client STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/dns_requests');

CREATE STREAM answers (
  id BIGINT, client STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path 'data/dns_answers');

CREATE STREAM syn (ip STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND)
  USING parquet OPTIONS (path 'data/tcp_syn');

CREATE STREAM synack (ip STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND)
  USING parquet OPTIONS (path 'data/tcp_synack');

CREATE SINK unanswered_requests USING parquet OPTIONS (path 'out/unanswered_requests');

INSERT INTO unanswered_requests
SELECT window(r.ts, '5 minutes').start AS tb, count(*) AS cnt
FROM requests AS r
WHERE NOT EXISTS (
  SELECT * FROM answers AS a
  WHERE a.id = r.id AND a.client = r.client AND a.ts >= r.ts AND a.ts - r.ts <= INTERVAL 5 SECONDS)
GROUP BY window(r.ts, '5 minutes');

CREATE SINK unanswered_syns USING parquet OPTIONS (path 'out/unanswered_syns');

INSERT INTO unanswered_syns
SELECT window(s.ts, '5 minutes').start AS tb, count(*) AS cnt
FROM syn AS s
WHERE NOT EXISTS (
  SELECT * FROM synack AS sa WHERE s.ip = sa.ip AND sa.ts >= s.ts AND sa.ts - s.ts <= INTERVAL 5 SECONDS)
GROUP BY window(s.ts, '5 minutes');
