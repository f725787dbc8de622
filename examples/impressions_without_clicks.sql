-- check: bounded
-- Ads that were shown and not clicked within half an hour. An impression is decided when the clock of the clicks
-- has passed the half hour, or when a click comes.
CREATE STREAM impressions (
  impression STRING, campaign STRING, ts TIMESTAMP,
  EVENT TIME ts,
  PRIMARY KEY (impression),
  ORDERED BY ts WITHIN 10 SECONDS
) USING parquet OPTIONS (path 'data/impressions');

CREATE STREAM clicks (
  impression STRING, ts TIMESTAMP,
  EVENT TIME ts,
  ORDERED BY ts WITHIN 10 SECONDS
) USING parquet OPTIONS (path 'data/clicks');

CREATE SINK unclicked USING parquet OPTIONS (path 'out/unclicked');

INSERT INTO unclicked
SELECT i.impression, i.campaign
FROM impressions AS i
WHERE NOT EXISTS (
  SELECT 1 FROM clicks AS k
  WHERE k.impression = i.impression
    AND k.ts BETWEEN i.ts AND i.ts + INTERVAL 30 MINUTES);
