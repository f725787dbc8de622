-- positive: a second FULL JOIN USING compares a column of a block, which has the least of two clocks; groups of a union say the same
CREATE STREAM a (k BIGINT, ts BIGINT, v BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (ts IS NOT NULL));
CREATE STREAM b (k BIGINT, ts BIGINT, w BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (ts IS NOT NULL));
CREATE STREAM c (k BIGINT, ts BIGINT, x BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (ts IS NOT NULL));
SELECT k, ts, v, w, x FROM a FULL JOIN b USING (k, ts) FULL JOIN c USING (k, ts);

SELECT k, ts, max(v) AS v, max(w) AS w, max(x) AS x
FROM (
  SELECT k, ts, v, NULL AS w, NULL AS x FROM a
  UNION ALL SELECT k, ts, NULL, w, NULL FROM b
  UNION ALL SELECT k, ts, NULL, NULL, x FROM c
)
GROUP BY k, ts;
