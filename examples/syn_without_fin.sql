-- check: bounded
-- The running example of optimizing-away-joins: for every 5 minutes, the SYN packets that were answered within 5 seconds
-- but whose connection was not closed within 10. `id` is the connection itself, which no packet carries.
-- The count of a window is emitted once, when the last of its packets is certain to have been closed or not.
CREATE STREAM syn (
  ip STRING, ts TIMESTAMP, id VIRTUAL,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND,
  PRIMARY KEY (id),
  STREAM KEY (id) SPANS synack WINDOW [0, *],
  STREAM KEY (ip) SPANS synack WINDOW [0, 15 SECONDS]
) USING parquet OPTIONS (path 'data/tcp_syn');

CREATE STREAM synack (
  ip STRING, ts TIMESTAMP, id VIRTUAL,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND,
  PRIMARY KEY (id),
  STREAM KEY (id) SPANS fin WINDOW [0, *],
  STREAM KEY (ip) SPANS fin WINDOW [0, 15 SECONDS],
  FOREIGN KEY (id, ip) REFERENCES syn (id, ip) WINDOW [-5 SECONDS, 0]
) USING parquet OPTIONS (path 'data/tcp_synack');

CREATE STREAM fin (
  ip STRING, ts TIMESTAMP, id VIRTUAL,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 1 SECOND,
  PRIMARY KEY (id),
  FOREIGN KEY (id, ip) REFERENCES synack (id, ip) WINDOW [-10 SECONDS, 0]
) USING parquet OPTIONS (path 'data/tcp_fin');

CREATE SINK unfinished USING parquet OPTIONS (path 'out/unfinished');

INSERT INTO unfinished
SELECT window(s.ts, '5 minutes').start AS tb, count(*) AS cnt
FROM syn AS s, synack AS sa
WHERE s.ip = sa.ip
  AND sa.ts >= s.ts
  AND sa.ts - s.ts <= INTERVAL 5 SECONDS
  AND NOT EXISTS (
    SELECT * FROM fin AS f
    WHERE sa.ip = f.ip AND f.ts >= sa.ts AND f.ts - sa.ts <= INTERVAL 10 SECONDS)
GROUP BY window(s.ts, '5 minutes');
