-- positive: sessions that are open and groups by several sets of keys, and what closes them; a block above both
CREATE STREAM s (a INT, b STRING, c BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE VIEW visits AS
SELECT a, session_window(ts, '10 minutes').start AS since, session_window.end AS until, count(*) AS n
FROM s GROUP BY a, session_window(ts, '10 minutes');
SELECT window(until, '1 hour').end AS hour, a, sum(n) AS n, collect_list(n) AS each
FROM visits GROUP BY window(until, '1 hour'), ROLLUP (a);
