-- positive: dates lie whole days apart, so `< 3 DAYS` is at most 2, in the chain of closes as in what purges
CREATE STREAM orders (id BIGINT, day DATE, EVENT TIME day, ORDERED BY day WITHIN 1 DAY);
CREATE STREAM returns (id BIGINT, day DATE, EVENT TIME day, ORDERED BY day WITHIN 1 DAY);
SELECT o.id FROM orders AS o, returns AS r
WHERE o.id = r.id AND r.day >= o.day AND r.day < o.day + INTERVAL 3 DAYS;
