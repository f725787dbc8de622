-- positive: for an integer event time, lengths are bare numbers
CREATE STREAM a (id INT, tick BIGINT, EVENT TIME tick, ORDERED BY tick WITHIN 5);
CREATE STREAM b (
  id INT, at INT, EVENT TIME at, ORDERED BY at,
  FOLLOWS a (id) ON (id) WITHIN 10,
  COOCCURS (id) AND a (id) WINDOW [-100, 0],
  PUNCTUATED ON (id) WHEN at < 0 LIFESPAN 1000
);
SELECT a.id, window(b.at, 300).start AS w, count(*) AS n
FROM a [RANGE 60], b [RANGE 5]
WHERE a.id = b.id AND b.at - a.tick BETWEEN 0 AND 5 AND a.tick <= b.at + 7
GROUP BY a.id, window(b.at, 300);
