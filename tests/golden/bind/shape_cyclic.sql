-- positive: three key classes in a triangle
CREATE STREAM a (x INT, z INT); CREATE STREAM b (x INT, y INT); CREATE STREAM c (y INT, z INT);
SELECT a.x FROM a, b, c WHERE a.x = b.x AND b.y = c.y AND c.z = a.z;
