-- positive: the same triangle, each join many-one by a primary key
CREATE STREAM a (x INT, z INT); CREATE STREAM b (x INT, y INT, PRIMARY KEY (x)); CREATE STREAM c (y INT, z INT, PRIMARY KEY (y), PRIMARY KEY (z));
SELECT a.x FROM a, b, c WHERE a.x = b.x AND b.y = c.y AND c.z = a.z;
