-- negative: an unknown stream, in FROM, in JOIN, in EXISTS, in a constraint
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM strem;
SELECT s.a FROM s JOIN tt ON s.a = tt.a;
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM nothing_like_it n WHERE n.a = s.a);
CREATE STREAM u (a INT, FOLLOWS sS (a) ON (a), FOLLOWS st (a) ON (a));
