-- negative: sinks whose rows are replaced by a key
CREATE STREAM s (k STRING, g STRING, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE SINK files (PRIMARY KEY (k)) USING parquet OPTIONS (path 'out');
CREATE SINK bare USING jdbc OPTIONS (url 'jdbc:derby:db', dbtable 't');
CREATE SINK columns (k STRING) USING delta OPTIONS (path 'out');
CREATE SINK twice (PRIMARY KEY (k, K)) USING delta OPTIONS (path 'out');
CREATE SINK few (PRIMARY KEY (k)) USING delta OPTIONS (path 'out');
CREATE SINK other (PRIMARY KEY (kk)) USING delta OPTIONS (path 'out');
CREATE SINK appended USING delta OPTIONS (path 'out');
CREATE STREAM q (k STRING, n BIGINT, PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO few);
INSERT INTO few SELECT k, g, count(*) AS n FROM s GROUP BY k, g;
INSERT INTO few SELECT k, count(*) AS n FROM s GROUP BY k, window(ts, '1 hour');
INSERT INTO other SELECT k, count(*) AS n FROM s GROUP BY k;
INSERT INTO appended SELECT k, count(*) AS n FROM s GROUP BY k;
