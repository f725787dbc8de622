-- positive: expressions over aggregates, beside groups and plain aggregates; an aggregate that stands twice is one
CREATE STREAM bids (auction BIGINT, bidder BIGINT, price DECIMAL(10,2), kind STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT auction, 60 * count(*) AS an_hour, count(*)/5.0 AS fifth, sum( price ) / count(*) AS mean FROM bids GROUP BY auction;
SELECT window(ts, '5 minutes').start AS since, count(*) AS n, 100 - (count(*) + sum(1)) AS left_over FROM bids GROUP BY window(ts, '5 minutes');
SELECT round(avg(b.price), 2) AS mean, CASE WHEN max(b.price) > 5 THEN 'dear' ELSE b.kind END AS how,
  coalesce(sum(b.price * 2), 0) + count(DISTINCT b.bidder) AS odd FROM bids AS b GROUP BY b.kind;
