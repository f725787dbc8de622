-- positive: date_trunc of a TIMESTAMP_NTZ and of a DATE is closed by its clock, and has a clock in the query above.
CREATE STREAM hits (page STRING, ts TIMESTAMP_NTZ, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (ts IS NOT NULL));
CREATE STREAM sales (shop INT, day DATE, EVENT TIME day, ORDERED BY day WITHIN 1 DAY, CHECK (day IS NOT NULL));
CREATE SINK hours USING parquet OPTIONS (path 'out/hours');
CREATE SINK months USING parquet OPTIONS (path 'out/months');
INSERT INTO hours SELECT window(hour, '6 hours').end AS until, max(n) AS most FROM (
  SELECT date_trunc('HOUR', ts) AS hour, page, count(*) AS n FROM hits GROUP BY date_trunc('HOUR', ts), page
) GROUP BY window(hour, '6 hours');
INSERT INTO months SELECT date_trunc('MONTH', day) AS month, shop, count(*) AS n FROM sales GROUP BY 1, 2;
