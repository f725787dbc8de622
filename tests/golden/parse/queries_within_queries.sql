-- positive: WITH, views, queries in FROM, IN, USING: inlined where that changes nothing, else blocks, printed as views
CREATE STREAM a (id BIGINT, k BIGINT, v BIGINT, s STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (id));
CREATE STREAM b (id BIGINT, k BIGINT, w BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM c (id BIGINT, k BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE VIEW m AS SELECT a.id, b.w, a.ts, a.k FROM a JOIN b ON a.k = b.k AND a.ts = b.ts;
CREATE VIEW keyed (PRIMARY KEY (id), EVENT TIME ts) AS SELECT id, ts, upper(s) AS big FROM a;
CREATE VIEW renamed (one, two) AS SELECT id, ts FROM a;
WITH big AS (SELECT id, k AS kk, v + 1 AS v1, ts FROM a WHERE v > 10)
SELECT big.id, v1, b.w FROM big JOIN b ON big.kk = b.k AND b.ts - big.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 5 SECONDS WHERE v1 < 100;
SELECT m.id, c.x FROM m, c WHERE m.k = c.k AND m.ts = c.ts;
SELECT keyed.big, renamed.one FROM keyed JOIN renamed ON keyed.id = renamed.one AND keyed.ts = renamed.two;
-- an absent row has no literal in it, so this is a block; the next is not
SELECT x.id, y.one FROM a x LEFT JOIN (SELECT k, 1 AS one FROM b) y ON x.k = y.k;
SELECT x.id, y.w FROM a x LEFT JOIN (SELECT k, w * 2 AS w, ts FROM b WHERE w > 3) y ON x.k = y.k AND x.ts = y.ts;
SELECT x.id FROM a x LEFT JOIN (SELECT b.k, b.ts FROM b JOIN c ON b.id = c.id WHERE b.w > c.x) y ON x.k = y.k AND x.ts = y.ts;
SELECT x.id FROM a x LEFT JOIN (SELECT b.k, b.ts FROM b LEFT JOIN c ON b.id = c.id WHERE b.w > 3) y ON x.k = y.k AND x.ts = y.ts;
SELECT id, k, w FROM a NATURAL JOIN (SELECT k, w FROM b) b;
SELECT k, a.id, b.id AS bid FROM a FULL JOIN b USING (k, ts);
SELECT k, a.id FROM a RIGHT JOIN b USING (k);
SELECT a.id FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.ts = a.ts;
SELECT a.id FROM a ANTI JOIN b ON a.k = b.k AND b.ts = a.ts JOIN c ON c.k = a.k AND c.ts = a.ts;
SELECT a.id FROM a LEFT JOIN (b JOIN c ON b.id = c.id AND b.ts = c.ts) ON a.k = b.k AND a.ts = b.ts;
SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE b.ts = a.ts) AND id NOT IN (SELECT x FROM c WHERE x IS NOT NULL);
SELECT id FROM a WHERE (id, k) IN (SELECT id, k FROM b WHERE b.ts = a.ts);
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON b.id = c.id AND b.ts = c.ts WHERE b.k = a.k AND b.ts = a.ts AND c.x > 3);
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.ts = a.ts AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = b.id AND c.ts = b.ts));
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM a AS other WHERE other.k = a.k AND other.ts = a.ts AND other.id < a.id);
SELECT id FROM a WHERE k IN (SELECT k FROM b GROUP BY k, window(ts, '1 minute'));
SELECT n.k, n.n, b.w FROM (SELECT k, window(ts, '5 minutes').end AS e, count(*) AS n FROM a GROUP BY k, window(ts, '5 minutes')) n JOIN b ON n.k = b.k AND b.ts = n.e;
SELECT d.k, b.w FROM (SELECT DISTINCT k, ts FROM a) d JOIN b ON b.k = d.k AND b.ts = d.ts;
SELECT p.id, q.x FROM (SELECT * FROM a) [RANGE 5 SECONDS] p, (SELECT id, x, ts FROM c) AS q WHERE p.id = q.id;
SELECT p.id, q.x FROM (SELECT * FROM a WHERE v > 1) [ROWS 10] p, (SELECT id, x FROM c [ROWS 5]) AS q WHERE p.id = q.id;
WITH r AS (SELECT * FROM a), q (i, j) AS (SELECT r1.id, r2.v FROM r r1 JOIN r r2 ON r1.k = r2.k AND r1.ts = r2.ts) SELECT * FROM q WHERE j > 3;
WITH a AS (SELECT id, k FROM b) SELECT id FROM a WHERE k > 0;
SELECT zz FROM (SELECT id, lower(s) AS zz FROM a) t WHERE length(t.zz) > 3 AND upper(zz) = 'X';
((SELECT id FROM a));
-- windows as wholes: their ends are columns of the block
SELECT x.n, y.n AS m, x.window.start AS since, x.window.end FROM (SELECT window(ts, '5 minutes'), k, count(*) AS n FROM a GROUP BY k, window(ts, '5 minutes')) x JOIN (SELECT window(ts, '5 minutes'), k, count(*) AS n FROM b GROUP BY k, window(ts, '5 minutes')) y ON x.k = y.k AND x.window = y.window;
WITH x AS (SELECT window(ts, '5 minutes') AS w, k, count(*) AS n FROM a GROUP BY k, window(ts, '5 minutes')) SELECT n, k FROM x JOIN (SELECT window(ts, '5 minutes') AS w, k, count(*) AS m FROM b GROUP BY k, window(ts, '5 minutes')) y USING (k, w) WHERE w.end > TIMESTAMP '2024-01-01 00:00:00';
-- unions, of which Spark widens the types
CREATE VIEW both_keys (EVENT TIME ts) AS SELECT id, k, ts FROM a UNION ALL SELECT id, 7, ts FROM b WHERE w > 0;
SELECT u.id, c.x FROM both_keys AS u JOIN c ON u.id = c.id AND u.ts = c.ts;
SELECT id FROM a UNION ALL (SELECT id FROM b) UNION SELECT id FROM c;
SELECT id FROM a WHERE k IN (SELECT k FROM b UNION ALL SELECT k FROM c);
