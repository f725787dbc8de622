-- negative: an unknown column: in SELECT, WHERE, ON, GROUP BY, EXISTS, a hint, with its alias and bare
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT aa FROM s WHERE bb = 'x';
SELECT s.ok2 FROM s JOIN t ON s.a = t.aaa;
SELECT count(*) AS n FROM s GROUP BY okk;
SELECT a FROM s WHERE EXISTS (SELECT tsx FROM t WHERE t.dd = s.b);
SELECT /*+ BUDGET(5 ROWS), VALUE(prize) */ a FROM s;
SELECT upper(bbb) AS x, max(cc) AS y FROM s;
