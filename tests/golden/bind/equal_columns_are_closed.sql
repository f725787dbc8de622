-- positive: a.k = b.k AND b.k = c.k says a.k = c.k; a triangle of one key class is a tree
CREATE STREAM a (k INT, x INT); CREATE STREAM b (k INT, x INT); CREATE STREAM c (k INT, x INT);
SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND a.k = c.k;
