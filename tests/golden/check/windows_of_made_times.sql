-- positive: windows of one of several times, of windows below that they do not hold whole, and of last moments of these.
CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM r (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE VIEW sums AS SELECT k, window(ts, '5 minutes') AS w, sum(v) AS v FROM s GROUP BY k, window(ts, '5 minutes');
SELECT window(coalesce(s.ts, r.ts), '1 minute') AS w, s.k, count(*) AS n
FROM s FULL JOIN r ON s.k = r.k AND r.ts - s.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 10 SECONDS
WHERE s.v > 0 OR r.v > 0 GROUP BY window(coalesce(s.ts, r.ts), '1 minute'), s.k;
SELECT window(w, '7 minutes').end AS until, max(v) AS most FROM sums GROUP BY window(w, '7 minutes');
SELECT window_time(w) AS t, max(v) AS most FROM sums GROUP BY window_time(w);
