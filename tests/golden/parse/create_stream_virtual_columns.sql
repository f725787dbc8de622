-- positive: VIRTUAL columns stand in keys and COOCCURS
CREATE STREAM syn (src STRING, conn VIRTUAL, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (conn));
CREATE STREAM ack (
  src STRING, conn VIRTUAL, ts TIMESTAMP, EVENT TIME ts,
  FOREIGN KEY (conn) REFERENCES syn (conn) WINDOW [-5 SECONDS, 0],
  STREAM KEY (conn) SPANS syn,
  COOCCURS (conn) AND syn (conn) WINDOW [-5 SECONDS, 0]
);
