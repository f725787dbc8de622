-- negative: a bare column that two streams have
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM s, t WHERE s.a = t.a;
SELECT s.a FROM s JOIN t ON a = 1;
SELECT s.b FROM s, t WHERE ts > '2024-01-01 00:00:00';
