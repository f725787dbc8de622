-- positive: the last moment of a window or a session is a clock above, by which longer windows are closed
CREATE STREAM s (
  k INT,
  ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 10 SECONDS
);

SELECT window(t, '1 hour', '20 minutes').start AS since, k, max(n) AS most
FROM (
  SELECT window(ts, '5 minutes').end - INTERVAL 1 MICROSECOND AS t, k, count(*) AS n
  FROM s
  GROUP BY window(ts, '5 minutes'), k
)
GROUP BY window(t, '1 hour', '20 minutes'), k;

SELECT window(t, '1 hour') AS w, count(*) AS sessions
FROM (
  SELECT session_window(ts, '5 minutes').end - INTERVAL '0.000001' SECOND AS t, k
  FROM s
  GROUP BY session_window(ts, '5 minutes'), k
)
GROUP BY window(t, '1 hour');
