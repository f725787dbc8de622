-- positive: two key classes in a chain
CREATE STREAM a (x INT); CREATE STREAM b (x INT, y INT); CREATE STREAM c (y INT);
SELECT a.x FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y;
