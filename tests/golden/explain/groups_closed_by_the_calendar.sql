-- positive: groups by the day of an ordered event time are given once to a sink that only appends
CREATE STREAM hits (page STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (ts IS NOT NULL));
CREATE SINK daily USING parquet OPTIONS (path 'out/daily');
INSERT INTO daily SELECT to_date(ts) AS day, page, count(*) AS hits FROM hits GROUP BY to_date(ts), page;
SELECT to_date(ts) AS day, page, count(*) AS hits FROM hits GROUP BY to_date(ts), page;
