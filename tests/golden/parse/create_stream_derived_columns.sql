-- positive: derived columns, over plain ones and over derived ones before them
CREATE STREAM s (
  ms BIGINT, raw STRING,
  ts TIMESTAMP AS (timestamp_millis(ms)),
  day DATE AS (CAST(ts AS DATE)),
  tag STRING AS (CASE WHEN raw LIKE 'a%' THEN upper(raw) ELSE concat(raw, '-', 'x') END),
  parts ARRAY<STRING> AS (split(raw, ',')),
  EVENT TIME ts
);
