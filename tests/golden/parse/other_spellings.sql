-- positive: WITH before INSERT, INSERT INTO TABLE, comments of views, STREAM before a name, timestampadd as a length
CREATE STREAM s (a INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE STREAM t (a INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE SINK one USING parquet OPTIONS (path 'one');
CREATE SINK two USING parquet OPTIONS (path 'two');
CREATE VIEW v (b COMMENT 'the key') COMMENT 'a view' AS SELECT DISTINCT a FROM s;
WITH big AS (SELECT a FROM s WHERE a > 10) INSERT INTO one SELECT a FROM big;
INSERT INTO TABLE two WITH small AS (SELECT a FROM STREAM s WHERE a < 10) SELECT a FROM small;
SELECT s.a FROM STREAM(s) JOIN STREAM t AS t ON t.a = s.a AND t.ts BETWEEN s.ts AND timestampadd(MINUTE, 10, s.ts);
SELECT b FROM v;
