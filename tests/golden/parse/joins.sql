-- positive: commas and JOIN … ON mixed; CROSS JOIN; the comma binds weaker
CREATE STREAM a (x INT); CREATE STREAM b (x INT); CREATE STREAM c (x INT); CREATE STREAM d (x INT);
SELECT a.x FROM a JOIN b ON a.x = b.x INNER JOIN c ON b.x = c.x AND c.x > 3;
SELECT a.x FROM a, b JOIN c ON b.x = c.x, d WHERE a.x = b.x AND d.x = a.x;
SELECT a.x FROM a JOIN b ON a.x = b.x, c CROSS JOIN d WHERE c.x = a.x;
SELECT a.x FROM a CROSS JOIN b LEFT JOIN c ON a.x = c.x;
SELECT a.x FROM a JOIN b ON TRUE;
SELECT l.x FROM a l JOIN a r ON l.x = r.x;
