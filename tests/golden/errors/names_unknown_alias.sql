-- negative: an unknown alias, and a stream's name where its alias hides it
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT y.a FROM s AS x;
SELECT s.a FROM s AS x;
SELECT x.* FROM s;
SELECT u.* FROM s AS uu;
