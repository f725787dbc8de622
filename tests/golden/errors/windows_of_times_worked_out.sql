-- negative: windows of times that are no columns; what the hint says to write is in tests/sql/test_time_windows.py
CREATE STREAM s (a INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT window(ts + INTERVAL 1 HOUR, '5 minutes').end AS w, count(*) AS n FROM s GROUP BY 1;
SELECT window(t, '5 minutes').end AS w, count(*) AS n FROM (SELECT ts + INTERVAL 1 HOUR AS t FROM s) GROUP BY window(t, '5 minutes');
