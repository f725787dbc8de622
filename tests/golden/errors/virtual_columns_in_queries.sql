-- negative: VIRTUAL columns stand in constraints only
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM v (a INT, conn VIRTUAL);
SELECT conn FROM v;
SELECT v.a FROM v, s WHERE v.conn = s.b;
SELECT count(conn) AS n FROM v;
CREATE STREAM w (a INT, x VIRTUAL, ORDERED BY x, CLUSTERED BY x, PUNCTUATED ON (x) WHEN a = 1, CHECK (x = 1), d INT AS (x + 1), FOLLOWS v (conn) ON (a));
CREATE STREAM z (x VIRTUAL);
CREATE STREAM y (x VIRTUAL AS (1));
