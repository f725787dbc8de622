-- positive: KMON's Figure 11: keys that have left are remembered where that is cheaper than rows that wait, and why
CREATE STREAM s1 (a BIGINT, x BIGINT, CLUSTERED BY a WITHIN 5000 ROWS, FOLLOWS s2 (a) ON (a) WITHIN 20000 ROWS);
CREATE STREAM s1_sooner (a BIGINT, x BIGINT, CLUSTERED BY a WITHIN 5000 ROWS, FOLLOWS s2 (a) ON (a) WITHIN 1000 ROWS);
CREATE STREAM s1_learned (a BIGINT, x BIGINT, CLUSTERED BY a WITHIN AUTO, FOLLOWS s2 (a) ON (a) WITHIN AUTO);
CREATE STREAM s2 (a BIGINT, y BIGINT, PRIMARY KEY (a));
SELECT s1.x, s2.y FROM s1, s2 WHERE s1.a = s2.a AND s2.y < 10;
SELECT s1.x, s2.y FROM s1_sooner AS s1, s2 WHERE s1.a = s2.a AND s2.y < 10;
SELECT s1.x, s2.y FROM s1_learned AS s1, s2 WHERE s1.a = s2.a AND s2.y < 10;
