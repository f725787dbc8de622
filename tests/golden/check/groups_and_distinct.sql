-- positive: DISTINCT and GROUP BY are state too, each with a line of its own
CREATE STREAM clicks (page STRING, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT DISTINCT ok FROM clicks;
SELECT window(ts, '5 minutes') AS w, page, count(*) AS n FROM clicks GROUP BY window(ts, '5 minutes'), page;
SELECT page, count(*) AS n FROM clicks GROUP BY page;
