-- negative: tables that are declared or used as streams are
CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts, PUNCTUATED ON (a) WHEN b = 'end');
CREATE STREAM u (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE TABLE t (a INT, name STRING, PRIMARY KEY (a)) USING parquet OPTIONS (path 'data/t');
CREATE TABLE nowhere (a INT);
CREATE TABLE s (a INT) USING parquet OPTIONS (path 'x');
CREATE TABLE ordered (a INT, ts TIMESTAMP, EVENT TIME ts) USING parquet OPTIONS (path 'x');
CREATE TABLE checked (a INT, CHECK (a > 0)) USING parquet OPTIONS (path 'x');
CREATE TABLE derived (a INT, c INT AS (a + 1)) USING parquet OPTIONS (path 'x');
SELECT t.name FROM t;
SELECT u.a FROM u RIGHT JOIN t ON u.a = t.a;
SELECT u.a FROM u JOIN t [ROWS 5] ON u.a = t.a;
SELECT u.a FROM s LEFT JOIN (u JOIN s AS v ON v.a = u.a JOIN t ON t.a = u.a AND t.name = v.b) ON s.a = u.a;
SELECT s.a FROM s JOIN u ON s.a = u.a JOIN t ON t.a = s.a AND t.name = u.b JOIN u AS w ON w.b = name;
SELECT s.a FROM s JOIN u ON s.a = u.a JOIN t ON t.a = s.a AND t.name = u.b JOIN u AS w ON w.b = t.name;
SELECT /*+ BUDGET(100 ROWS) */ s.a FROM s JOIN u ON s.a = u.a JOIN t ON t.a = s.a AND t.name = u.b;
SELECT u.a FROM u WHERE EXISTS (SELECT 1 FROM t);
SELECT s.a FROM s WHERE s.a IN (SELECT a FROM t WHERE t.name = s.b);
INSERT INTO t SELECT a FROM u;
