-- positive: three streams in a chain of keys; promises close each of them
CREATE STREAM c (pid BIGINT, src STRING, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (pid), ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM b (
  pid BIGINT, hop BIGINT, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (pid), ORDERED BY ts WITHIN 3 SECONDS,
  FOLLOWS c (pid) ON (pid), COOCCURS (pid) AND c (pid) WINDOW [-2 SECONDS, 0]
);
CREATE STREAM o (
  pid BIGINT, size INT, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (pid), ORDERED BY ts WITHIN 3 SECONDS ON VIOLATION FAIL,
  FOLLOWS b (pid) ON (pid), COOCCURS (pid) AND b (pid) WINDOW [-2 SECONDS, 0]
);
SELECT c.src, b.hop, o.size FROM c [RANGE 60 SECONDS], b [RANGE 60 SECONDS], o [RANGE 60 SECONDS]
WHERE c.pid = b.pid AND b.pid = o.pid AND o.size > 100 AND c.src LIKE '10.%';
