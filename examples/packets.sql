-- check: bounded
-- The packets of k-constraints section 1.1: a packet is seen at the customer link (c), maybe in the backbone (b), maybe
-- at the outgoing link (o), at most 2 seconds from one to the next. Nothing but promises bounds it: there is no window.
CREATE STREAM c (
  pid BIGINT, size INT, ts TIMESTAMP,
  EVENT TIME ts,
  PRIMARY KEY (pid),
  ORDERED BY ts WITHIN 3 SECONDS
);

CREATE STREAM b (
  pid BIGINT, hop INT, ts TIMESTAMP,
  EVENT TIME ts,
  PRIMARY KEY (pid),
  ORDERED BY ts WITHIN 3 SECONDS,
  COOCCURS (pid) AND c (pid) WINDOW [-2 SECONDS, 0]
);

CREATE STREAM o (
  pid BIGINT, link INT, ts TIMESTAMP,
  EVENT TIME ts,
  PRIMARY KEY (pid),
  ORDERED BY ts WITHIN 3 SECONDS,
  COOCCURS (pid) AND b (pid) WINDOW [-2 SECONDS, 0]
);

SELECT c.pid, c.size, b.hop, o.link
FROM c, b, o
WHERE c.pid = b.pid AND b.pid = o.pid;
