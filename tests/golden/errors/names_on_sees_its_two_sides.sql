-- negative: ON sees the two sides of its own join only
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM u (a INT); SELECT s.a FROM s, t JOIN u ON t.a = u.a AND s.a = u.a;
CREATE STREAM v (a INT); SELECT s.a FROM s JOIN t ON s.a = v.a JOIN v ON v.a = t.a;
