-- positive: columns and expressions without AS are named as Spark names them; a name that is taken gets its alias or a number
CREATE STREAM orders (id BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE STREAM payments (id BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT * FROM orders AS o JOIN payments AS p ON o.id = p.id AND p.ts - o.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR;
SELECT window(o.ts, '1 hour'), sum(o.price), sum(o.price), sum(o.price) + 1, o.id, count(*) AS `sum(price)_2`
FROM orders AS o GROUP BY window(o.ts, '1 hour'), o.id;
