-- positive: when a third stream matches two others, each says; so does their FULL JOIN. The first says no earliest time.
CREATE STREAM orders (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE,
  COOCCURS (id) AND payments (id) WINDOW [0, 1 HOUR], COOCCURS (id) AND parcels (id) WINDOW [0, 2 DAYS]
);
CREATE STREAM payments (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, FOLLOWS parcels (id) ON (id) WITHIN 3 DAYS
);
CREATE STREAM refunds (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE,
  COOCCURS (id) AND claims (id) WINDOW [0, 1 HOUR], COOCCURS (id) AND visits (id) WINDOW [0, 2 DAYS]
);
CREATE STREAM claims (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE,
  COOCCURS (id) AND visits (id) WINDOW [-1 HOUR, 1 DAY]
);
CREATE STREAM visits (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM parcels (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
SELECT id, orders.ts AS ordered, payments.ts AS paid, parcels.ts AS sent
FROM orders FULL JOIN payments USING (id) LEFT JOIN parcels USING (id);

SELECT id, refunds.ts AS refunded, claims.ts AS claimed, visits.ts AS visited
FROM refunds FULL JOIN claims USING (id) FULL JOIN visits USING (id);
