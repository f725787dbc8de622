-- negative: a view that reads tables alone is a table: what it promises is declared where the table is
CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE TABLE t (k BIGINT, v BIGINT) USING parquet OPTIONS (path 'data/t');
CREATE VIEW w (PRIMARY KEY (k)) AS SELECT k, max(v) AS v FROM t GROUP BY k;
SELECT s.k, w.v FROM s JOIN w ON s.k = w.k;
