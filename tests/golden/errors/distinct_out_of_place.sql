-- negative: DISTINCT in a function that is no aggregate, with something behind it or nothing
CREATE STREAM c (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT date_trunc('HOUR', DISTINCT) FROM c;
SELECT date_trunc('HOUR', DISTINCT) AS h FROM c;
SELECT upper(DISTINCT k) AS h FROM c;
