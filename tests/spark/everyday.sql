-- Everyday queries of a shop, as a data engineer writes them; each means the same to Spark's batch engine.
-- The first lines declare the streams and tables; a line `-- name` begins a query, with the views before it.

CREATE STREAM orders (id BIGINT, customer BIGINT, item STRING, qty INT, price DECIMAL(10,2), status STRING, tags ARRAY<STRING>, addr STRUCT<city: STRING, zip: STRING>, attrs MAP<STRING, STRING>, payload STRING, day DATE, local TIMESTAMP_NTZ, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (id IS NOT NULL), CHECK (ts IS NOT NULL)) {orders};
CREATE STREAM payments (order_id BIGINT, amount DECIMAL(10,2), method STRING, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (ts IS NOT NULL)) {payments};
CREATE STREAM clicks (customer BIGINT, page STRING, ms BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (customer IS NOT NULL), CHECK (ts IS NOT NULL)) {clicks};
CREATE TABLE customers (id BIGINT, name STRING, country STRING, vip BOOLEAN, since DATE) {customers};
CREATE TABLE items (item STRING, category STRING, cost DECIMAL(10,2)) {items};

-- with_chain
WITH paid AS (SELECT o.id, o.item, p.amount, o.ts FROM orders o JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES), big AS (SELECT * FROM paid WHERE amount > 20) SELECT id, item, amount * 2 AS twice
FROM big;

-- nested_cte
WITH a AS (WITH b AS (SELECT id, item, ts FROM orders WHERE qty > 1) SELECT id, upper(item) AS item, ts FROM b) SELECT a.item, p.amount
FROM a
JOIN payments p ON p.order_id = a.id AND p.ts BETWEEN a.ts AND a.ts + INTERVAL 5 MINUTES;

-- view_on_view
CREATE VIEW v1 AS SELECT id, customer, price * qty AS total, ts
FROM orders
WHERE status <> 'void';
CREATE VIEW v2 AS SELECT v1.id, v1.total, p.amount, p.ts AS paid_at
FROM v1
LEFT JOIN payments p ON p.order_id = v1.id AND p.ts BETWEEN v1.ts AND v1.ts + INTERVAL 10 MINUTES;
SELECT id, total - coalesce(amount, 0) AS open
FROM v2
WHERE amount IS NULL OR amount < total;

-- view_twice
CREATE VIEW per AS SELECT customer, window(ts, '5 minutes') AS w, count(*) AS n
FROM clicks
GROUP BY customer, window(ts, '5 minutes');
SELECT a.customer, a.w.start AS s, a.n, b.n AS before
FROM per a
LEFT JOIN per b ON b.customer = a.customer AND b.w.end = a.w.start;

-- union_all
SELECT id AS k, ts, 'order' AS kind
FROM orders
UNION ALL SELECT order_id, ts, 'payment'
FROM payments;

-- union_distinct
SELECT customer, ts
FROM orders
UNION SELECT customer, ts
FROM clicks;

-- intersect
SELECT customer, date_trunc('minute', ts) AS m
FROM orders
INTERSECT SELECT customer, date_trunc('minute', ts)
FROM clicks;

-- except
SELECT customer, ts
FROM orders
EXCEPT SELECT customer, ts
FROM clicks;

-- having
SELECT item, window(ts, '10 minutes').start AS w, sum(qty) AS total
FROM orders
GROUP BY item, window(ts, '10 minutes')
HAVING sum(qty) > 3 AND count(*) > 1;

-- not_in
SELECT id
FROM orders
WHERE id NOT IN (SELECT order_id FROM payments WHERE order_id IS NOT NULL);

-- not_in_table
SELECT id, item
FROM orders
WHERE item NOT IN (SELECT item FROM items WHERE item IS NOT NULL);

-- not_exists_band
SELECT o.id, o.ts
FROM orders o
WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES);

-- table_joins
SELECT o.id, c.name, i.category, o.price - i.cost AS margin
FROM orders o
JOIN customers c ON c.id = o.customer
LEFT JOIN items i ON i.item = o.item
WHERE c.vip OR i.category = 'food';

-- sliding
SELECT window.start, window.end, count(*) AS n, count(*) FILTER (WHERE status = 'paid') AS paid
FROM orders
GROUP BY window(ts, '10 minutes', '5 minutes');

-- session
SELECT customer, session_window(ts, '2 minutes').start AS began, count(*) AS n, sum(ms) AS ms
FROM clicks
GROUP BY customer, session_window(ts, '2 minutes');

-- session_star
SELECT customer, session_window.start, session_window.end, count(DISTINCT page)
FROM clicks
GROUP BY customer, session_window(ts, '3 minutes');

-- using
SELECT customer, o.id, c.page
FROM orders o
JOIN clicks c USING (customer)
WHERE c.ts BETWEEN o.ts - INTERVAL 2 MINUTES AND o.ts;

-- two_stream_cond
SELECT o.id, p.method
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES AND (p.amount <> o.price OR p.method LIKE concat(substr(o.item, 1, 1), '%'));

-- unnamed
SELECT qty + 1, upper(item), CASE WHEN qty > 2 THEN 'many' ELSE 'few' END, price * qty
FROM orders;

-- rownum_dedup
SELECT id, item, ts
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id, window(ts, '10 minutes') ORDER BY ts, payload) AS rn FROM orders)
WHERE rn = 1;

-- rownum_top2
SELECT customer, page, ms
FROM (SELECT customer, page, ms, ROW_NUMBER() OVER (PARTITION BY date_trunc('HOUR', ts) ORDER BY ms DESC, customer, page) AS rn FROM clicks) t
WHERE rn <= 2;

-- qualify
SELECT customer, page, ms
FROM clicks
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ms DESC, page) = 1;

-- qualify_alias
SELECT customer, page, ms, ROW_NUMBER() OVER (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ms DESC, page) AS rn
FROM clicks
QUALIFY rn <= 2;

-- lateral_view
SELECT id, tag
FROM orders LATERAL VIEW explode(tags) t AS tag
WHERE tag <> 'x';

-- explode_group
SELECT tag, window(ts, '10 minutes').start AS w, count(*) AS n
FROM (SELECT explode(tags) AS tag, ts FROM orders)
GROUP BY tag, window(ts, '10 minutes');

-- structs
SELECT id, addr.city, attrs['color'] AS color, get(tags, 0) AS first_tag, size(tags), named_struct('a', qty, 'b', item) AS s, map_keys(attrs) AS ks
FROM orders
WHERE addr.zip = '100';

-- struct_key
SELECT o.id, c.page
FROM orders o
JOIN clicks c ON c.page = o.addr.city AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES;

-- ntz
SELECT id, local + INTERVAL 1 HOUR AS later, date_trunc('DAY', local) AS d
FROM orders
WHERE local >= TIMESTAMP_NTZ '2026-01-01 00:05:00';

-- scalar_sub_table
SELECT id, price - (SELECT avg(cost) FROM items) AS above
FROM orders
WHERE price > (SELECT min(cost) FROM items);

-- correlated_exists_table
SELECT id
FROM orders o
WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer AND c.vip);

-- case_join
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON CASE WHEN o.status = 'void' THEN -1 ELSE o.id END = p.order_id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- dates
SELECT id, date_add(day, 3) AS due, datediff(to_date(ts), day) AS age, year(ts), date_format(ts, 'yyyy-MM') AS ym, ts + INTERVAL 1 DAY AS tomorrow, last_day(day)
FROM orders;

-- strings
SELECT id, concat_ws('-', item, status) AS c, split(item, 'a')[0] AS s, regexp_extract(item, '([a-z]+)', 1) AS r, item || '!' AS bang, lpad(item, 6, '*'), item ILIKE 'A%' AS ia, item RLIKE '^a'
FROM orders;

-- json
SELECT id, get_json_object(payload, '$.k') AS k, from_json(payload, 'k INT, s STRING').s AS s, to_json(addr) AS j
FROM orders;

-- json_join
SELECT o.id, c.page
FROM orders o
JOIN clicks c ON CAST(get_json_object(o.payload, '$.k') AS BIGINT) = c.customer AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 3 MINUTES;

-- grouping_sets
SELECT item, status, window(ts, '10 minutes').start AS w, sum(qty) AS q
FROM orders
GROUP BY GROUPING SETS ((item, window(ts, '10 minutes')), (status, window(ts, '10 minutes')));

-- rollup
SELECT item, status, count(*) AS n
FROM orders
GROUP BY window(ts, '1 hour'), ROLLUP (item, status);

-- lca
SELECT id, price * qty AS total, total * 0.2 AS tax, total + tax AS gross
FROM orders
WHERE qty > 0;

-- star_except
SELECT * EXCEPT (payload, tags, attrs, addr)
FROM orders;

-- star_except_join
SELECT o.* EXCEPT (payload, tags, attrs, addr), p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- values
SELECT o.id, r.rate
FROM orders o
JOIN (VALUES ('apple', 0.1), ('bread', 0.2)) AS r(item, rate) ON r.item = o.item;

-- values_cte
WITH rates(item, rate) AS (VALUES ('apple', 1), ('bread', 2)) SELECT o.id, o.qty * rate AS x
FROM orders o
LEFT JOIN rates ON rates.item = o.item;

-- distinct_from
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
WHERE p.amount IS DISTINCT
FROM o.price;

-- not_distinct_key
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id IS NOT DISTINCT
FROM o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- named_window
SELECT customer, page, ms
FROM (SELECT customer, page, ms, row_number() OVER w AS rn
FROM clicks
WINDOW w AS (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ms DESC, page))
WHERE rn = 1;

-- pct_cont
SELECT window(ts, '10 minutes').start AS w, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS med
FROM clicks
GROUP BY window(ts, '10 minutes');

-- string_agg
SELECT customer, window(ts, '10 minutes').start AS w, string_agg(page, ',') WITHIN GROUP (ORDER BY page) AS pages
FROM clicks
GROUP BY customer, window(ts, '10 minutes');

-- listagg
SELECT customer, window(ts, '10 minutes').start AS w, listagg(DISTINCT page, ',') WITHIN GROUP (ORDER BY page) AS pages
FROM clicks
GROUP BY customer, window(ts, '10 minutes');

-- array_agg
SELECT customer, window(ts, '10 minutes').start AS w, sort_array(array_agg(page)) AS pages
FROM clicks
GROUP BY customer, window(ts, '10 minutes');

-- group_by_all
SELECT customer, window(ts, '10 minutes').start AS w, count(*) AS n
FROM clicks
GROUP BY ALL;

-- group_by_ordinal
SELECT customer, window(ts, '10 minutes') AS w, count(*) AS n
FROM clicks
GROUP BY 1, 2;

-- group_by_alias
SELECT item AS i, to_date(ts) AS d, avg(price) AS a, max(price) - min(price) AS spread
FROM orders
GROUP BY i, d;

-- semi
SELECT o.id, o.item
FROM orders o LEFT SEMI
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- anti
SELECT o.id, o.item
FROM orders o LEFT ANTI
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- semi_before_left
SELECT o.id, c.page
FROM orders o LEFT SEMI
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
LEFT JOIN clicks c ON c.customer = o.customer AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 3 MINUTES;

-- three_way_left
SELECT o.id, p.amount, c.page
FROM orders o
LEFT JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
LEFT JOIN clicks c ON c.customer = o.customer AND c.ts BETWEEN o.ts - INTERVAL 1 MINUTE AND o.ts;

-- in_pairs
SELECT id
FROM orders
WHERE (customer, item) IN (SELECT c.id, 'apple' FROM customers c);

-- agg_of_join
SELECT o.item, window(o.ts, '10 minutes').start AS w, sum(p.amount) AS paid, count(DISTINCT o.customer) AS customers, avg(p.amount) AS a, max_by(o.id, p.amount)
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
GROUP BY o.item, window(o.ts, '10 minutes');

-- join_grouped
SELECT o.id, a.n
FROM orders o
JOIN (SELECT customer, window(ts, '5 minutes') AS w, count(*) AS n
FROM clicks
GROUP BY customer, window(ts, '5 minutes')) a ON a.customer = o.customer AND o.ts >= a.w.start AND o.ts < a.w.end;

-- count_distinct_2
SELECT window(ts, '10 minutes').start AS w, count(DISTINCT customer, page) AS n, approx_count_distinct(customer) AS a, stddev(ms) AS s, any_value(1) AS one, bool_or(ms > 50) AS slow, count_if(ms > 10) AS c
FROM clicks
GROUP BY window(ts, '10 minutes');

-- date_trunc_group
SELECT date_trunc('MINUTE', ts) AS m, page, min(ms) AS lo
FROM clicks
GROUP BY date_trunc('MINUTE', ts), page;

-- hour_group
SELECT to_date(ts) AS d, hour(ts) AS h, count(*) AS n
FROM clicks
GROUP BY to_date(ts), hour(ts);

-- cross_join_table
SELECT o.id, c.country
FROM orders o CROSS
JOIN customers c
WHERE c.vip;

-- full_outer
SELECT o.id, p.order_id, coalesce(o.id, p.order_id) AS k
FROM orders o FULL OUTER
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- natural
SELECT *
FROM (SELECT customer, page, ts FROM clicks) NATURAL
JOIN (SELECT customer, ts, item FROM orders);

-- cast_ops
SELECT id, qty::STRING AS s, CAST(price AS INT) AS p, try_cast(item AS INT) AS t, price::DOUBLE / qty AS r, qty DIV 2, qty % 2 = 0 AS even
FROM orders;

-- higher_order
SELECT id, transform(tags, t -> upper(t)) AS u, filter(tags, t -> t LIKE 'a%') AS f, exists(tags, t -> t = 'x') AS e, aggregate(array(1, 2, qty), 0, (a, x) -> a + x) AS s
FROM orders;

-- array_contains_join
SELECT o.id, c.page
FROM orders o
JOIN clicks c ON array_contains(o.tags, c.page) AND c.customer = o.customer AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES;

-- in_list_between
SELECT id
FROM orders
WHERE status IN ('paid', 'new') AND qty NOT BETWEEN 2 AND 3 AND item NOT LIKE 'b%' AND NOT (price > 50 AND qty = 1);

-- timestampdiff_join
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id
WHERE timestampdiff(MINUTE, o.ts, p.ts) BETWEEN 0 AND 10;

-- unix_join
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id AND unix_timestamp(p.ts) - unix_timestamp(o.ts) BETWEEN 0 AND 600;

-- self_join
SELECT a.id, b.id AS other
FROM orders a
JOIN orders b ON a.customer = b.customer AND a.id < b.id AND b.ts BETWEEN a.ts - INTERVAL 3 MINUTES AND a.ts + INTERVAL 3 MINUTES;

-- distinct_exprs
SELECT DISTINCT customer, date_trunc('HOUR', ts) AS h
FROM clicks;

-- distinct_on_join
SELECT DISTINCT o.item, p.method, window(o.ts, '10 minutes').start AS w
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES;

-- sum_case
SELECT window(ts, '10 minutes').start AS w, sum(CASE WHEN status = 'paid' THEN price * qty ELSE 0 END) AS paid, sum(IF(status = 'new', 1, 0)) AS fresh, round(avg(price), 1) AS a
FROM orders
GROUP BY window(ts, '10 minutes');

-- union_groups
SELECT k, window(ts, '10 minutes').start AS w, count(*) AS n
FROM (SELECT customer AS k, ts FROM orders UNION ALL SELECT customer, ts FROM clicks) u
GROUP BY k, window(ts, '10 minutes');

-- union_by_pos_types
SELECT qty AS v, ts
FROM orders
UNION ALL SELECT ms, ts
FROM clicks
UNION ALL SELECT 0, ts
FROM payments;

-- in_grouped_window
SELECT o.id
FROM orders o
WHERE EXISTS (SELECT 1
FROM (SELECT customer, window(ts, '5 minutes') AS w
FROM clicks
GROUP BY customer, window(ts, '5 minutes')
HAVING count(*) > 1) c WHERE c.customer = o.customer AND o.ts >= c.w.start AND o.ts < c.w.end);

-- rownum_win_shown
SELECT id, w, ts
FROM (SELECT id, ts, window(ts, '10 minutes').start AS w, ROW_NUMBER() OVER (PARTITION BY id, window(ts, '10 minutes') ORDER BY ts DESC, payload) AS rn FROM orders)
WHERE rn <= 2;

-- qualify_join
SELECT o.id, p.amount, p.ts AS paid_at
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id, window(o.ts, '10 minutes') ORDER BY p.ts, p.amount) = 1;

-- qualify_and
SELECT customer, page, ms, ts
FROM clicks
WHERE ms > 5
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ts, page, ms) <= 3 AND ms < 60;

-- qualify_view
CREATE VIEW latest AS SELECT *
FROM clicks
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, window(ts, '10 minutes') ORDER BY ts DESC, page, ms) = 1;
SELECT l.customer, l.page, o.id
FROM latest l
JOIN orders o ON o.customer = l.customer AND o.ts BETWEEN l.ts - INTERVAL 5 MINUTES AND l.ts + INTERVAL 5 MINUTES;

-- values_plain
SELECT o.id, r.col2
FROM orders o
LEFT JOIN VALUES ('apple', 1), ('milk', NULL) r ON r.col1 = o.item;

-- values_in
SELECT o.id
FROM orders o
WHERE o.item IN (SELECT a
FROM VALUES ('apple'), ('milk') AS t(a));

-- values_union_table
SELECT o.id, r.c
FROM orders o
JOIN (SELECT item, category AS c
FROM items
UNION ALL VALUES ('milk', 'drink')) r ON r.item = o.item;

-- values_types
SELECT o.id, r.v + 1 AS v, r.d
FROM orders o
JOIN (SELECT *
FROM VALUES ('apple', 1, DATE '2026-01-01'), ('milk', 3000000000, NULL) AS t(item, v, d) WHERE v > 0) r ON r.item = o.item;

-- pct_desc
SELECT window(ts, '10 minutes').start AS w, percentile_cont(0.2) WITHIN GROUP (ORDER BY ms DESC) AS med, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE page = 'home') AS h
FROM clicks
GROUP BY window(ts, '10 minutes');

-- listagg_desc
SELECT window(ts, '10 minutes').start AS w, listagg(ms, ', ') WITHIN GROUP (ORDER BY ms DESC) AS x, upper(string_agg(page) WITHIN GROUP (ORDER BY page)) AS y, listagg(page) WITHIN GROUP (ORDER BY page) FILTER (WHERE ms > 90) AS z
FROM clicks
GROUP BY window(ts, '10 minutes');

-- having_window_join
SELECT o.id, c.n, c.w
FROM orders o
JOIN (SELECT customer, window(ts, '5 minutes') AS w, 2 * count(*) AS n
FROM clicks
GROUP BY customer, window(ts, '5 minutes')
HAVING max(ms) > 50) c ON c.customer = o.customer AND o.ts >= c.w.start AND o.ts < c.w.end;

-- having_window_star
SELECT *
FROM (SELECT customer, window(ts, '5 minutes') AS w, 2 * count(*) AS n
FROM clicks
GROUP BY customer, window(ts, '5 minutes')
HAVING max(ms) > 50) c
WHERE c.n > 2;

-- qualify_hidden
SELECT customer
FROM clicks
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ts, page, ms) <= 3 AND ms < 60;

-- qualify_hidden2
SELECT o.id, upper(p.method)
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
QUALIFY ROW_NUMBER() OVER w = 1 AND p.amount > 20
WINDOW w AS (PARTITION BY o.item, window(o.ts, '10 minutes') ORDER BY p.ts, p.amount, o.id);

-- qualify_distinct
SELECT DISTINCT page
FROM clicks
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, date_trunc('HOUR', ts) ORDER BY ts, page, ms) = 1;

-- distinct_window
SELECT DISTINCT customer, window(ts, '10 minutes') AS w
FROM clicks
WHERE ms > 20;

-- intersect_hours
SELECT date_trunc('HOUR', ts) AS h, customer FROM orders
INTERSECT
SELECT date_trunc('HOUR', ts), customer FROM clicks;

-- except_days
SELECT to_date(ts) AS d, customer FROM clicks WHERE page = 'home'
EXCEPT
SELECT to_date(ts), customer FROM orders WHERE qty > 2;

-- cut_meets_time
SELECT o.id, h.n
FROM orders o
LEFT JOIN (SELECT window(ts, '5 minutes').start AS m, count(*) AS n FROM clicks GROUP BY window(ts, '5 minutes')) h ON date_trunc('MINUTE', o.ts) = h.m;

-- struct_key
SELECT o.id, c.page, o.addr.zip
FROM orders o
LEFT JOIN clicks c ON o.addr.city = c.page AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE;

-- struct_distinct
SELECT city, n FROM (SELECT addr.city AS city, window(ts, '10 minutes') AS w, count(DISTINCT addr.zip) AS n FROM orders GROUP BY addr.city, window(ts, '10 minutes'));

-- struct_view
CREATE VIEW seen AS SELECT DISTINCT addr.city AS city, attrs['color'] AS color, named_struct('a', qty, 'b', item) AS both, ts FROM orders;
SELECT s.city, s.color, s.both.b AS item, c.ms FROM seen s JOIN clicks c ON c.page = s.city AND c.ts = s.ts;

-- struct_star
SELECT id, addr.* FROM orders WHERE addr.city IS NOT NULL;

-- struct_union
SELECT addr.city AS place, ts FROM orders WHERE addr IS NOT NULL UNION ALL SELECT page, ts FROM clicks WHERE ms > 50;

-- top_joined
SELECT p.order_id, t.item, t.ts AS first
FROM payments p
JOIN (SELECT id, item, ts FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY window(ts, '2 minutes'), id ORDER BY ts, item, qty, price) = 1) t ON t.id = p.order_id AND p.ts BETWEEN t.ts AND t.ts + INTERVAL 3 MINUTES;

-- last_joined
SELECT c.customer, c.page, l.last
FROM clicks c
LEFT JOIN (SELECT customer, max(ts) AS last, count(*) AS n FROM orders GROUP BY customer, window(ts, '3 minutes')) l ON l.customer = c.customer AND c.ts BETWEEN l.last AND l.last + INTERVAL 2 MINUTES;

-- names_from_without
WITH t (what, at) AS (SELECT substring_index(item, 'a', 1), ts FROM orders UNION ALL SELECT concat(page, '!', ms % 3), ts FROM clicks)
SELECT what, at FROM t WHERE what <> '';

-- union_widened
SELECT qty AS n, price AS m, ts FROM orders UNION ALL SELECT ms, CAST(ms AS DECIMAL(12,3)), ts FROM clicks;

-- exists_in_exists_or
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES AND EXISTS (SELECT 1 FROM clicks c WHERE c.ts BETWEEN p.ts - INTERVAL 1 MINUTE AND p.ts AND (c.page = p.method OR c.ms > 90)));

-- not_in_decimal
SELECT o.id, o.price FROM orders o WHERE o.price IS NOT NULL AND o.price NOT IN (SELECT p.amount FROM payments p WHERE p.amount IS NOT NULL AND p.ts BETWEEN o.ts - INTERVAL 5 MINUTES AND o.ts + INTERVAL 5 MINUTES);

-- using_full_star
SELECT * FROM (SELECT id AS k, item, ts FROM orders) a FULL JOIN (SELECT order_id AS k, method, ts FROM payments) b USING (k, ts);

-- grouping_nulls
SELECT status, method, grouping(status) AS g, count(*) AS n, window(o.ts, '10 minutes').start AS w
FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES
GROUP BY GROUPING SETS ((status, method), (status), (method), ()), window(o.ts, '10 minutes');

-- session_below_join
SELECT s.customer, s.n, o.id
FROM (SELECT customer, session_window(ts, '30 seconds').start AS b, session_window.end AS e, count(*) AS n FROM clicks GROUP BY customer, session_window(ts, '30 seconds')) s
LEFT JOIN orders o ON o.customer = s.customer AND o.ts BETWEEN s.b AND s.e;

-- lateral_alias_group
SELECT window(ts, '10 minutes').start AS w, upper(coalesce(item, 'none')) AS it, sum(qty) AS q, q * 2 AS twice, count_if(price > 30) AS dear FROM orders GROUP BY upper(coalesce(item, 'none')), window(ts, '10 minutes') HAVING count(*) > 1;

-- shadowed_names
WITH orders AS (SELECT order_id AS id, amount AS price, ts FROM payments), payments AS (SELECT id, price, ts FROM orders WHERE price > 10) SELECT a.id, b.price FROM orders a JOIN payments b ON a.id = b.id AND a.ts = b.ts;

-- arrays_in_conditions
SELECT o.id, c.page FROM orders o JOIN clicks c ON array_contains(o.tags, c.page) AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 2 MINUTES;

-- map_in_left_join
SELECT o.id, c.ms FROM orders o LEFT JOIN clicks c ON c.page = coalesce(o.attrs['color'], 'home') AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 20 SECONDS;

-- explode_group
SELECT tag, count(*) AS n, window(ts, '10 minutes').start AS w FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag, window(ts, '10 minutes');

-- tuple_in
SELECT id FROM orders WHERE (status, qty) IN (('paid', 1), ('new', 2)) OR (item, qty) IN (('apple', 3));

-- asked_as_value
SELECT o.id, EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES) AS paid, coalesce(o.customer, 0) NOT IN (SELECT id FROM customers WHERE vip) AS plain
FROM orders o;

-- asked_beside_or
SELECT o.id, o.item, o.price FROM orders o
WHERE o.status = 'paid' OR o.price > 80 OR EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES);

-- asked_of_two
SELECT c.customer, c.page, c.ts FROM clicks c
WHERE c.customer IN (SELECT id FROM customers WHERE vip) OR NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.customer AND o.ts BETWEEN c.ts AND c.ts + INTERVAL 5 MINUTES);

-- asked_in_groups
SELECT window(o.ts, '10 minutes').start AS since, count(*) AS n,
  count_if(EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES)) AS paid,
  sum(CASE WHEN o.item IN (SELECT item FROM items WHERE item IS NOT NULL) THEN o.price ELSE 0 END) AS known
FROM orders o GROUP BY window(o.ts, '10 minutes');

-- asked_after_join
WITH flagged AS (SELECT o.id, o.item, i.cost, o.ts, EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES) AS paid
  FROM orders o LEFT JOIN items i ON i.item = o.item WHERE o.qty > 1 OR o.item IN (SELECT item FROM items WHERE cost > 2))
SELECT f.id, f.cost, c.page FROM flagged f JOIN clicks c ON c.ts BETWEEN f.ts AND f.ts + INTERVAL 1 MINUTE WHERE NOT f.paid;

-- asked_table_twice
SELECT o.id, i.category FROM orders o JOIN items i ON i.item = o.item WHERE o.qty NOT IN (SELECT i.cost FROM items i WHERE i.category = 'food') AND EXISTS (SELECT 1 FROM items i WHERE i.cost > o.price);

-- top_groups
SELECT customer, n, since, rn FROM (SELECT customer, count(*) AS n, window(ts, '10 minutes').start AS since, ROW_NUMBER() OVER (PARTITION BY window(ts, '10 minutes') ORDER BY count(*) DESC, customer) AS rn FROM clicks GROUP BY customer, window(ts, '10 minutes')) WHERE rn <= 2;

-- qualify_groups
SELECT item, to_date(ts) AS d, sum(qty) AS sold FROM orders GROUP BY item, to_date(ts) QUALIFY ROW_NUMBER() OVER (PARTITION BY d ORDER BY sold DESC NULLS LAST, item) <= 2;

-- first_of_hour_joined
SELECT f.id, f.ts, p.amount FROM (SELECT id, ts, ROW_NUMBER() OVER (PARTITION BY date_trunc('MINUTE', ts) ORDER BY ts, id, item, price) AS rn FROM orders) f LEFT JOIN payments p ON p.order_id = f.id AND p.ts BETWEEN f.ts AND f.ts + INTERVAL 10 MINUTES WHERE f.rn = 1;

-- asked_of_windows
WITH per AS (SELECT customer, window(ts, '5 minutes') AS w, count(*) AS n FROM clicks GROUP BY customer, window(ts, '5 minutes'))
SELECT p.customer, p.w, p.w.end AS until, EXISTS (SELECT 1 FROM orders o WHERE o.customer = p.customer AND o.ts BETWEEN p.w.start AND p.w.end) AS bought FROM per p WHERE p.n > 2 OR p.customer IN (SELECT id FROM customers WHERE vip);

-- windows_and_late_table
WITH per AS (SELECT customer, window(ts, '5 minutes') AS w, count(*) AS n FROM clicks GROUP BY customer, window(ts, '5 minutes')),
sold AS (SELECT customer, window(ts, '5 minutes') AS w, count(*) AS n FROM orders GROUP BY customer, window(ts, '5 minutes'))
SELECT p.customer, p.w.start AS since, c.name FROM per p JOIN sold s ON s.customer = p.customer AND s.w = p.w JOIN customers c ON c.id = p.n - s.n;

-- union_nulls
SELECT customer, ts, max(page) AS page, max(price) AS price, count(*) AS n FROM (SELECT customer, ts, page, NULL AS price FROM clicks UNION ALL SELECT customer, ts, NULL, price FROM orders) GROUP BY customer, ts;

-- windowed_view
CREATE VIEW seen AS SELECT *, window(ts, '5 minutes') AS w FROM clicks;
SELECT w, customer, count(*) AS n, avg(ms) AS slow FROM seen WHERE ms IS NOT NULL GROUP BY w, customer;

-- windowed_from
SELECT w.start AS since, w.end AS until, count(DISTINCT page) AS pages, max(w.end) AS most, date_format(w.start, 'HH:mm') AS minute
FROM (SELECT window(ts, '5 minutes') AS w, page FROM clicks) GROUP BY w HAVING w.start > TIMESTAMP '2026-01-01 00:05:00' AND count(*) > 1;

-- windowed_rows
SELECT id, window(ts, '5 minutes') AS w, window(ts, '5 minutes').end AS until, item FROM orders WHERE qty > 1;

-- windowed_rows_shifted
SELECT window(ts, '5 minutes', '5 minutes', '2 minutes') AS w, id FROM orders;

-- windowed_groups_shifted
SELECT w.start AS since, item, sum(qty) AS sold FROM (SELECT window(ts, '5 minutes', '5 minutes', '90 seconds') AS w, item, qty FROM orders) GROUP BY w, item;

-- windowed_join
SELECT x.id, x.w, y.amount FROM (SELECT id, window(ts, '10 minutes') AS w FROM orders) x JOIN (SELECT order_id, amount, window(ts, '10 minutes') AS w FROM payments) y ON x.id = y.order_id AND x.w = y.w;

-- windowed_left_join
SELECT x.id, x.w.start AS since, y.amount FROM (SELECT id, window(ts, '10 minutes') AS w FROM orders) x LEFT JOIN (SELECT order_id, amount, window(ts, '10 minutes') AS w FROM payments) y ON x.id = y.order_id AND x.w = y.w;

-- windowed_full_using
SELECT w, id, x.item, y.amount FROM (SELECT id, item, window(ts, '10 minutes') AS w FROM orders) x FULL JOIN (SELECT order_id AS id, amount, window(ts, '10 minutes') AS w FROM payments) y USING (id, w);

-- windowed_join_groups
SELECT c.page, c.w.start AS since, g.sold FROM (SELECT page, customer, window(ts, '5 minutes') AS w FROM clicks) c
LEFT JOIN (SELECT window(ts, '5 minutes') AS w, customer, sum(qty) AS sold FROM orders GROUP BY window(ts, '5 minutes'), customer) g ON c.customer = g.customer AND c.w = g.w;

-- windowed_exists
SELECT x.id, x.w FROM (SELECT id, window(ts, '10 minutes') AS w FROM orders) x WHERE NOT EXISTS (SELECT 1 FROM (SELECT order_id, window(ts, '10 minutes') AS w FROM payments) y WHERE y.order_id = x.id AND y.w = x.w);

-- windowed_explode
SELECT w, tag, count(*) AS n FROM (SELECT window(ts, '10 minutes') AS w, explode(tags) AS tag FROM orders) GROUP BY w, tag;

-- windowed_table
CREATE VIEW sold AS SELECT o.*, i.category, window(o.ts, '10 minutes') AS w FROM orders o LEFT JOIN items i ON i.item = o.item;
SELECT w.start AS since, category, sum(qty) AS n FROM sold GROUP BY w, category;

-- windowed_top
SELECT * FROM (SELECT w, id, price, ROW_NUMBER() OVER (PARTITION BY w ORDER BY price DESC NULLS LAST, id, ts) AS rn FROM (SELECT window(ts, '10 minutes') AS w, id, price, ts FROM orders)) WHERE rn <= 2;

-- windowed_rollup
SELECT w.start AS since, item, count(*) AS n FROM (SELECT window(ts, '10 minutes') AS w, item FROM orders) GROUP BY ROLLUP (item), w;

-- windowed_distinct
SELECT DISTINCT w, customer FROM (SELECT window(ts, '5 minutes') AS w, customer FROM clicks);

-- hot_items
WITH per AS (SELECT window(ts, '5 minutes') AS w, item, count(*) AS n FROM orders GROUP BY window(ts, '5 minutes'), item), most AS (SELECT w, max(n) AS n FROM per GROUP BY w)
SELECT per.w.start AS since, per.item, per.n FROM per JOIN most ON per.w = most.w AND per.n = most.n;

-- window_of_window
WITH per AS (SELECT window(ts, '5 minutes') AS w, item, sum(qty) AS n FROM orders GROUP BY 1, 2) SELECT window(w, '15 minutes') AS quarter, item, max(n) AS most FROM per GROUP BY 1, 2;

-- window_of_window_time
WITH per AS (SELECT window(ts, '5 minutes') AS w, item, sum(qty) AS n FROM orders GROUP BY 1, 2) SELECT window(window_time(w), '20 minutes', '10 minutes') AS long, count(*) AS items, sum(n) AS n FROM per GROUP BY 1;

-- union_windows
SELECT window(ts, '5 minutes') AS w, customer FROM orders UNION SELECT window(ts, '5 minutes') AS w, customer FROM clicks;

-- intersect_windows
SELECT window(ts, '5 minutes') AS w, customer FROM orders INTERSECT SELECT window(ts, '5 minutes') AS w, customer FROM clicks;

-- except_windows
SELECT window(ts, '5 minutes') AS w, customer FROM clicks EXCEPT SELECT window(ts, '5 minutes') AS w, customer FROM orders;

-- union_all_windows
SELECT w, kind, count(*) AS n FROM (SELECT window(ts, '5 minutes') AS w, 'order' AS kind FROM orders UNION ALL SELECT window(ts, '5 minutes') AS w, 'payment' FROM payments) GROUP BY w, kind;

-- union_all_grouped_windows
SELECT w.start AS since, sum(n) AS n FROM (SELECT window(ts, '5 minutes') AS w, count(*) AS n FROM orders GROUP BY 1 UNION ALL SELECT window(ts, '5 minutes') AS w, count(*) AS n FROM payments GROUP BY 1) GROUP BY w;

-- three_full_using
WITH o AS (SELECT window(ts, '5 minutes') AS w, customer, count(*) AS n FROM orders GROUP BY 1, 2), c AS (SELECT window(ts, '5 minutes') AS w, customer, count(*) AS n FROM clicks GROUP BY 1, 2),
p AS (SELECT window(ts, '5 minutes') AS w, order_id AS customer, sum(amount) AS paid FROM payments GROUP BY 1, 2)
SELECT w, customer, o.n AS bought, c.n AS clicked, paid FROM o FULL JOIN c USING (w, customer) FULL JOIN p USING (w, customer);

-- full_then_left_using
SELECT ts, customer, o.item, c.page, p.amount FROM orders o FULL JOIN clicks c USING (customer, ts) LEFT JOIN (SELECT order_id AS customer, ts, amount FROM payments) p USING (customer, ts);

-- full_using_then_group
WITH o AS (SELECT window(ts, '5 minutes') AS w, customer, count(*) AS n FROM orders GROUP BY 1, 2), c AS (SELECT window(ts, '5 minutes') AS w, customer, count(*) AS n FROM clicks GROUP BY 1, 2)
SELECT w, sum(bought) AS bought, sum(clicked) AS clicked FROM (SELECT w, customer, o.n AS bought, c.n AS clicked FROM o FULL JOIN c USING (w, customer)) GROUP BY w;

-- window_of_coalesce
SELECT window(t, '5 minutes') AS w, count(*) AS n, count(id) AS orders, count(amount) AS paid FROM (SELECT coalesce(o.ts, p.ts) AS t, o.id, p.amount FROM orders o FULL JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts - INTERVAL 1 MINUTE AND o.ts + INTERVAL 5 MINUTES) GROUP BY window(t, '5 minutes');

-- minute_of_greatest
SELECT date_trunc('MINUTE', t) AS minute, count(*) AS n FROM (SELECT greatest(o.ts, p.ts) AS t FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES) GROUP BY 1;

-- join_on_coalesce
SELECT x.id, x.t, c.page FROM (SELECT coalesce(o.ts, p.ts) AS t, coalesce(o.id, p.order_id) AS id, o.customer FROM orders o FULL JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES) x LEFT JOIN clicks c ON c.customer = x.customer AND c.ts BETWEEN x.t AND x.t + INTERVAL 1 MINUTE;

-- timestampdiff_left
SELECT o.id, p.amount FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND timestampdiff(MINUTE, o.ts, p.ts) BETWEEN -1 AND 4;

-- timestampdiff_full
SELECT o.id, p.order_id FROM orders o FULL JOIN payments p ON p.order_id = o.id AND abs(timestampdiff(SECOND, o.ts, p.ts)) < 90;

-- timestampdiff_not_exists
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND timestampdiff(SECOND, o.ts, p.ts) > 0 AND timestampdiff(MINUTE, o.ts, p.ts) <= 5);

-- distinct_structs
SELECT window(ts, '10 minutes').start AS since, count(DISTINCT addr) AS places, count(DISTINCT tags) AS tags, count(DISTINCT struct(item, qty)) AS both FROM orders GROUP BY window(ts, '10 minutes');

-- table_by_a_quotient
SELECT o.id, i.category FROM orders o JOIN items i ON 6 / (o.qty - 1) = i.cost WHERE o.qty <> 1 AND i.category IS NOT NULL;

-- table_by_a_quotient_left
SELECT o.id, i.category, p.amount FROM orders o LEFT JOIN items i ON 6 % (o.qty - 1) < i.cost JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES WHERE o.qty <> 1;

-- table_by_a_number
SELECT o.id FROM orders o LEFT ANTI JOIN items i ON CAST(o.addr.zip AS INT) = i.cost WHERE o.addr.zip RLIKE '^[0-9]+$';

-- windowed_absent
SELECT window(o.ts, '10 minutes').start AS since, p.m, count(*) AS n FROM orders o LEFT JOIN (SELECT order_id, ts, window(ts, '5 minutes').start AS m FROM payments) p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES GROUP BY window(o.ts, '10 minutes'), p.m;

-- prices_apart
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 MINUTES * 2 AND p.amount - o.price < 20 AND o.price <= p.amount + 40 AND o.qty < p.amount - 1;

-- days_apart
SELECT o.id, p.amount
FROM orders o
JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES AND p.ts - o.day < INTERVAL 20 DAYS AND o.day + 10 < p.ts AND o.local - p.ts < INTERVAL 1 HOUR;

-- distinct_from_left
SELECT o.id, p.amount
FROM orders o
LEFT JOIN payments p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES AND p.method IS DISTINCT FROM o.status AND (o.price < p.amount) IS NOT TRUE;

-- division_guarded_below
SELECT q.id, c.page
FROM (SELECT id, customer, 100 / (qty - 1) AS share, ts FROM orders WHERE qty > 1) q
JOIN clicks c ON c.customer = q.customer AND q.share > 40 AND c.ts BETWEEN q.ts AND q.ts + INTERVAL 3 MINUTES;

-- division_guarded_left
SELECT o.id, p.amount
FROM orders o
LEFT JOIN payments p ON p.order_id = o.id AND 100 / (o.qty - 1) > 40 AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES
WHERE o.qty > 1;
