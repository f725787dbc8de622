-- negative: SEMI and ANTI JOIN with several streams, on the optional side, without a condition; what they hide
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT s.a FROM s LEFT SEMI JOIN (t JOIN s AS u ON t.a = u.a) ON s.a = t.a;
SELECT s.a FROM t LEFT JOIN (s ANTI JOIN t AS u ON s.a = u.a) ON s.a = t.a;
SELECT s.a FROM s SEMI JOIN t;
SELECT t.d FROM s SEMI JOIN t ON s.a = t.a;
SELECT s.a FROM s RIGHT SEMI JOIN t ON s.a = t.a;
