-- negative: LATERAL VIEW over what is no array, or not of one stream
CREATE STREAM s (a INT, b STRING, list ARRAY<STRING>, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM u (a INT, b STRING, list ARRAY<STRING>, ts TIMESTAMP, EVENT TIME ts);
SELECT a, explode(lst) AS x FROM s;
SELECT a, x FROM s LATERAL VIEW explode(b) t AS x;
SELECT a, x FROM s LATERAL VIEW posexplode(list) t AS x;
SELECT a, x FROM s LATERAL VIEW inline(list) t AS x;
SELECT a, x FROM s LATERAL VIEW json_tuple(b, 'x') t AS x;
SELECT s.a, x FROM s JOIN u ON s.a = u.a LATERAL VIEW explode(array(s.b, u.b)) t AS x;
SELECT s.a, x FROM s LEFT JOIN u ON s.a = u.a LATERAL VIEW explode(u.list) t AS x;
SELECT s.a FROM s FULL JOIN LATERAL explode(s.list) AS t (x) ON TRUE;
SELECT s.a FROM s JOIN LATERAL explode(s.list) AS t (x) ON t.x = s.b;
