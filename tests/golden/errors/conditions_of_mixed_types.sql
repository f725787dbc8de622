-- negative: columns of different types compared
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT s.a FROM s, t WHERE s.a = t.d;
SELECT s.a FROM s JOIN t ON s.b = t.a;
SELECT s.a FROM s, t WHERE s.ts = t.a;
SELECT s.a FROM s, t WHERE s.b - t.d < 3;
SELECT s.a FROM s, t WHERE s.ts - t.ts < 5;
SELECT s.a FROM s, t WHERE s.a - t.a < INTERVAL 5 SECONDS;
SELECT s.a FROM s, t WHERE s.a BETWEEN t.d AND t.a;
