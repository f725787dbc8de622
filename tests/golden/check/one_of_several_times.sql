-- positive: what is one of several times has the least of their clocks: groups and joins above a FULL JOIN
CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM r (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT window(t, '10 minutes') AS w, count(*) AS n
FROM (SELECT coalesce(s.ts, r.ts) AS t FROM s FULL JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts AND s.ts + INTERVAL 5 MINUTES) GROUP BY 1;
WITH p AS (SELECT k, window(ts, '10 minutes') AS w, count(*) AS n FROM s GROUP BY 1, 2),
  q AS (SELECT k, window(ts, '10 minutes') AS w, count(*) AS n FROM r GROUP BY 1, 2)
SELECT w, k, p.n, q.n AS m, p2.n AS more FROM p FULL JOIN q USING (k, w) LEFT JOIN p AS p2 USING (k, w);
SELECT s.k FROM s LEFT JOIN r ON s.k = r.k AND timestampdiff(MINUTE, s.ts, r.ts) BETWEEN 0 AND 5;
