-- negative: USING over columns that a side lacks or has twice; a column that both sides have
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM s JOIN t USING (b);
SELECT a FROM s JOIN t ON s.a = t.a JOIN s AS u USING (a);
SELECT ts FROM s JOIN t USING (a);
SELECT a FROM s JOIN t USING ();
SELECT a FROM s NATURAL t;
