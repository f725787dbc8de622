-- positive: names found in any case and through aliases; types of what a query gives
CREATE STREAM Bids (Id BIGINT, price DECIMAL(10,2), st STRUCT<x: INT>, ms LONG, ts TIMESTAMP AS (timestamp_millis(MS)), EVENT TIME TS);
SELECT b.id, B.PRICE AS p, bids_2.st.x, upper(CAST(b.price AS STRING)) AS u, b.price + bids_2.price AS both
FROM bids AS b, BIDS AS bids_2 WHERE b.ID = bids_2.Id AND b.price > 1;
