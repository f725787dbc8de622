-- positive: what stands in every result of outer joins and EXISTS; the shape as if all matched
CREATE STREAM a (k INT, v INT, PRIMARY KEY (k)); CREATE STREAM b (k INT, v INT); CREATE STREAM c (k INT, v INT); CREATE STREAM d (k INT);
SELECT a.k, c.v FROM a LEFT JOIN b ON a.k = b.k AND b.v > 1 FULL JOIN c ON c.k = a.k;
SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE b.v > 1 AND NOT EXISTS (SELECT 1 FROM d WHERE d.k = b.k);
SELECT c.k FROM b RIGHT JOIN c ON b.k = c.k WHERE EXISTS (SELECT 1 FROM d WHERE d.k = c.k AND d.k > 3);
