-- Nexmark's questions in Spark SQL, with what the streams promise. Write the events first:
--   python examples/nexmark/events.py nexmark
-- Left out: q10 and q12 (a sink, and windows of processing time).
CREATE STREAM person (
  id BIGINT, name STRING, email STRING, city STRING, state STRING, ts TIMESTAMP,
  EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 1 SECOND, CHECK (ts IS NOT NULL)
) USING parquet OPTIONS (path 'nexmark/person', maxFilesPerTrigger '1');

CREATE STREAM auction (
  id BIGINT, item STRING, initial_bid BIGINT, reserve BIGINT, ts TIMESTAMP, expires TIMESTAMP, seller BIGINT,
  category BIGINT,
  EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 1 SECOND,
  CHECK (ts IS NOT NULL AND expires - ts <= INTERVAL 20 SECONDS)
) USING parquet OPTIONS (path 'nexmark/auction', maxFilesPerTrigger '1');

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND, CHECK (ts IS NOT NULL)
) USING parquet OPTIONS (path 'nexmark/bid', maxFilesPerTrigger '1');

-- The channels that are known by a number.
CREATE TABLE channels (channel STRING, number INT) USING parquet OPTIONS (path 'nexmark/channels');

-- Bids that came while their auction was open.
CREATE VIEW bids_in_time AS
SELECT a.id, a.category, a.seller, a.reserve, a.ts AS opened, a.expires, b.bidder, b.price, b.ts
FROM auction AS a JOIN bid AS b ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.expires;

-- Bids of each auction in the last ten seconds, every two.
CREATE VIEW recent AS
SELECT auction, window(ts, '10 seconds', '2 seconds').end AS until, count(*) AS bids
FROM bid GROUP BY auction, window(ts, '10 seconds', '2 seconds');

CREATE SINK q0 USING parquet OPTIONS (path 'out/nexmark/q0');
INSERT INTO q0 SELECT auction, bidder, price, channel, url, ts FROM bid;

-- Prices in another currency.
CREATE SINK q1 USING parquet OPTIONS (path 'out/nexmark/q1');
INSERT INTO q1 SELECT auction, bidder, 0.908 * price AS price, ts FROM bid;

CREATE SINK q2 USING parquet OPTIONS (path 'out/nexmark/q2');
INSERT INTO q2 SELECT auction, price FROM bid WHERE auction % 123 = 0;

-- Who sells in three states what is of category 10? Sellers are new: within ten minutes.
CREATE SINK q3 USING parquet OPTIONS (path 'out/nexmark/q3');
INSERT INTO q3
SELECT p.name, p.city, p.state, a.id
FROM auction AS a JOIN person AS p ON a.seller = p.id AND a.ts BETWEEN p.ts AND p.ts + INTERVAL 10 MINUTES
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

-- What is paid in each category, on average, for what was opened in each ten seconds?
CREATE SINK q4 USING parquet OPTIONS (path 'out/nexmark/q4');
INSERT INTO q4
WITH sold AS (
  SELECT id, category, window(opened, '10 seconds').end AS until, max(price) AS final
  FROM bids_in_time GROUP BY id, category, window(opened, '10 seconds')
)
SELECT category, until, avg(final) AS paid FROM sold GROUP BY category, until;

-- The auction with the most bids in the last ten seconds, every two.
CREATE SINK q5 USING parquet OPTIONS (path 'out/nexmark/q5');
INSERT INTO q5
SELECT h.auction, h.until, h.bids
FROM recent AS h JOIN (SELECT until, max(bids) AS most FROM recent GROUP BY until) AS m
  ON h.until = m.until AND h.bids = m.most;

-- What were the last ten sales of each seller paid, on average? Minute by minute of when auctions were opened.
CREATE SINK q6 USING parquet OPTIONS (path 'out/nexmark/q6');
INSERT INTO q6
WITH sold AS (
  SELECT id, seller, minute, price, ts FROM (
    SELECT id, seller, date_trunc('MINUTE', opened) AS minute, price, ts,
      ROW_NUMBER() OVER (PARTITION BY id, seller, date_trunc('MINUTE', opened) ORDER BY price DESC, ts, bidder) AS place
    FROM bids_in_time
  ) WHERE place <= 1
), latest AS (
  SELECT seller, minute, price FROM (
    SELECT seller, minute, price, ROW_NUMBER() OVER (PARTITION BY seller, minute ORDER BY ts DESC, id) AS place FROM sold
  ) WHERE place <= 10
)
SELECT seller, minute, avg(price) AS paid FROM latest GROUP BY seller, minute;

-- The dearest bids of each ten seconds.
CREATE SINK q7 USING parquet OPTIONS (path 'out/nexmark/q7');
INSERT INTO q7
SELECT b.auction, b.bidder, b.price, b.ts
FROM bid AS b JOIN (
  SELECT max(price) AS dearest, window(ts, '10 seconds').end AS until FROM bid GROUP BY window(ts, '10 seconds')
) AS m ON b.price = m.dearest AND b.ts >= m.until - INTERVAL 10 SECONDS AND b.ts < m.until;

-- Who joined and opened an auction in the same ten seconds?
CREATE SINK q8 USING parquet OPTIONS (path 'out/nexmark/q8');
INSERT INTO q8
WITH joined AS (
  SELECT id, name, window(ts, '10 seconds').end AS until FROM person GROUP BY id, name, window(ts, '10 seconds')
), opened AS (
  SELECT seller, window(ts, '10 seconds').end AS until FROM auction GROUP BY seller, window(ts, '10 seconds')
)
SELECT j.id, j.name, j.until FROM joined AS j JOIN opened AS o ON j.id = o.seller AND j.until = o.until;

-- The winning bid of each auction: once, when no bid can come any more.
CREATE SINK q9 USING parquet OPTIONS (path 'out/nexmark/q9');
INSERT INTO q9
SELECT id, bidder, price, ts FROM (
  SELECT id, bidder, price, ts, ROW_NUMBER() OVER (PARTITION BY id, opened ORDER BY price DESC, ts, bidder) AS place
  FROM bids_in_time
) WHERE place <= 1;

-- How often does someone bid in one sitting?
CREATE SINK q11 USING parquet OPTIONS (path 'out/nexmark/q11');
INSERT INTO q11
SELECT bidder, count(*) AS bids, session_window(ts, '1 second').start AS since, session_window(ts, '1 second').end AS until
FROM bid GROUP BY bidder, session_window(ts, '1 second');

-- Bids with the number of their channel.
CREATE SINK q13 USING parquet OPTIONS (path 'out/nexmark/q13');
INSERT INTO q13
SELECT b.auction, b.bidder, b.price, b.ts, c.number
FROM bid AS b JOIN channels AS c ON b.channel = c.channel;

CREATE SINK q14 USING parquet OPTIONS (path 'out/nexmark/q14');
INSERT INTO q14
SELECT auction, bidder, 0.908 * price AS price,
  CASE WHEN hour(ts) BETWEEN 8 AND 18 THEN 'day' WHEN hour(ts) <= 6 OR hour(ts) >= 20 THEN 'night' ELSE 'other' END AS part,
  ts, length(url) - length(replace(url, 'c', '')) AS cs
FROM bid WHERE 0.908 * price BETWEEN 500000 AND 50000000;

-- Bids of each minute, by their price.
CREATE SINK q15 USING parquet OPTIONS (path 'out/nexmark/q15');
INSERT INTO q15
SELECT date_trunc('MINUTE', ts) AS minute, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
  count(*) FILTER (WHERE price >= 1000000) AS high,
  count(DISTINCT bidder) AS bidders, count(DISTINCT auction) AS auctions,
  count(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders
FROM bid GROUP BY date_trunc('MINUTE', ts);

CREATE SINK q16 USING parquet OPTIONS (path 'out/nexmark/q16');
INSERT INTO q16
SELECT channel, date_trunc('MINUTE', ts) AS minute, max(ts) AS latest, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low, count(DISTINCT bidder) AS bidders,
  count(DISTINCT auction) FILTER (WHERE price >= 10000) AS dear_auctions
FROM bid GROUP BY channel, date_trunc('MINUTE', ts);

CREATE SINK q17 USING parquet OPTIONS (path 'out/nexmark/q17');
INSERT INTO q17
SELECT auction, date_trunc('MINUTE', ts) AS minute, count(*) AS bids, min(price) AS cheapest, max(price) AS dearest,
  avg(price) AS average, sum(price) AS total, count(*) FILTER (WHERE price < 10000) AS low
FROM bid GROUP BY auction, date_trunc('MINUTE', ts);

-- The last bid of each bidder for each auction, minute by minute.
CREATE SINK q18 USING parquet OPTIONS (path 'out/nexmark/q18');
INSERT INTO q18
SELECT auction, bidder, price, ts FROM (
  SELECT auction, bidder, price, ts,
    ROW_NUMBER() OVER (PARTITION BY bidder, auction, date_trunc('MINUTE', ts) ORDER BY ts DESC, price DESC) AS place
  FROM bid
) WHERE place = 1;

-- The ten dearest bids of each auction, minute by minute.
CREATE SINK q19 USING parquet OPTIONS (path 'out/nexmark/q19');
INSERT INTO q19
SELECT auction, bidder, price, ts, place FROM (
  SELECT auction, bidder, price, ts,
    ROW_NUMBER() OVER (PARTITION BY auction, date_trunc('MINUTE', ts) ORDER BY price DESC, ts, bidder) AS place
  FROM bid
) WHERE place <= 10;

-- Bids of one category with their auction.
CREATE SINK q20 USING parquet OPTIONS (path 'out/nexmark/q20');
INSERT INTO q20
SELECT b.auction, b.bidder, b.price, b.channel, b.ts, a.item, a.initial_bid, a.reserve, a.seller, a.category
FROM bid AS b JOIN auction AS a ON b.auction = a.id AND b.ts BETWEEN a.ts - INTERVAL 1 SECOND AND a.ts + INTERVAL 1 MINUTE
WHERE a.category = 10;

CREATE SINK q21 USING parquet OPTIONS (path 'out/nexmark/q21');
INSERT INTO q21
SELECT auction, bidder, price, channel,
  CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2'
    WHEN lower(channel) = 'baidu' THEN '3' ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid
WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> '' OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');

CREATE SINK q22 USING parquet OPTIONS (path 'out/nexmark/q22');
INSERT INTO q22
SELECT auction, bidder, price, channel, split(url, '/')[3] AS first, split(url, '/')[4] AS second, split(url, '/')[5] AS third
FROM bid;
