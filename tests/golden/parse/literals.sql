-- positive: constants of every type; strings with escapes
CREATE STREAM s (i BIGINT, d DECIMAL(10,2), f DOUBLE, t STRING, day DATE, ts TIMESTAMP, ok BOOLEAN);
SELECT i FROM s WHERE i = -3 AND i < 10L AND d >= 1.50 AND d < 1E3 AND f > 1.5 AND t = 'a\'b' AND t = "double" AND t < 'ü€'
  AND t > 'back\\slash' AND day = '2024-02-29' AND day > DATE '2024-01-01' AND ts < TIMESTAMP '2024-01-01 10:00:00.5' AND ok = TRUE
  AND t IN ('a' 'b', 'c') AND i IN (1, 2, 2);
