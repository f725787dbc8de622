-- positive: EXISTS in the ON of joins: as a condition of WHERE, of one side, and as a column of the side that is kept
CREATE STREAM orders (id BIGINT, item BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM payments (order_id BIGINT, card BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM alarms (subject BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE SINK met USING parquet OPTIONS (path 'out/met');
CREATE SINK filtered USING parquet OPTIONS (path 'out/filtered');
CREATE SINK marked USING parquet OPTIONS (path 'out/marked');
INSERT INTO met
SELECT o.id, p.card FROM orders AS o JOIN payments AS p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE
  AND EXISTS (SELECT 1 FROM alarms AS a WHERE a.subject = p.card AND a.ts BETWEEN o.ts AND p.ts);
INSERT INTO filtered
SELECT o.id, p.card FROM orders AS o LEFT JOIN payments AS p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE
  AND NOT EXISTS (SELECT 1 FROM alarms AS a WHERE a.subject = p.card AND a.ts BETWEEN p.ts AND p.ts + INTERVAL 1 MINUTE);
INSERT INTO marked
SELECT o.id, p.card FROM orders AS o LEFT JOIN payments AS p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE
  AND (p.card > 0 OR EXISTS (SELECT 1 FROM alarms AS a WHERE a.subject = o.item AND a.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE));
