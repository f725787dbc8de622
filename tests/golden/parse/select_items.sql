-- positive: *, x.*, columns bare and with their stream, expressions, fields, names with AS or without
CREATE STREAM s (a INT, b STRING, st STRUCT<x: INT>, ar ARRAY<INT>, m MAP<STRING, INT>, v VIRTUAL);
CREATE STREAM t (c INT, d STRING);
SELECT * FROM s;
SELECT * FROM s, t WHERE a = c;
SELECT t.*, s.a, S.B AS name, a + 1 plus_one FROM s JOIN t ON s.a = t.c;
SELECT st.x, s.st.x AS y, ar[0] AS first, m['k'] AS k, -a AS negative, b || '!' AS loud, CAST(a AS STRING) AS c,
  CASE WHEN a > 1 THEN 'many' ELSE 'few' END AS how, coalesce(b, 'none') AS b2, transform(ar, x -> x + a) AS more
FROM s;
SELECT ALL a FROM s;
SELECT DISTINCT a, b FROM s;
