-- positive: LEFT, RIGHT and FULL OUTER JOIN, the word OUTER may be left out
CREATE STREAM a (x INT, y STRING); CREATE STREAM b (x INT, y STRING); CREATE STREAM c (x INT, y STRING);
SELECT a.x FROM a LEFT OUTER JOIN b ON a.x = b.x;
SELECT a.x FROM a LEFT JOIN b ON a.x = b.x AND b.y LIKE 'q%' RIGHT JOIN c ON c.x = b.x WHERE a.y IS NULL;
SELECT a.x FROM a FULL OUTER JOIN b ON a.x = b.x AND a.y = b.y;
SELECT a.x FROM a FULL JOIN b ON TRUE, c;
SELECT a.x FROM c, a RIGHT OUTER JOIN b [ROWS 5] AS q ON a.x = q.x;
