-- negative: conditions on several streams that compare no two columns
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT s.a FROM s, t WHERE s.a + t.a > 5;
SELECT s.a FROM s, t WHERE s.a = t.a OR s.b = t.d;
SELECT s.a FROM s, t WHERE upper(s.b) = t.d;
SELECT s.a FROM s, t WHERE s.a <> t.a;
SELECT s.a FROM s, t WHERE s.a * 2 < t.a;
SELECT s.a FROM s, t WHERE s.ts - t.ts < INTERVAL 1 MONTH;
SELECT s.a FROM s, t WHERE NOT (s.a = t.a);
SELECT s.a FROM s, t WHERE abs(s.a - t.a) < 3;
