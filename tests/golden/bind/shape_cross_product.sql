-- positive: streams that nothing ties together
CREATE STREAM a (x INT); CREATE STREAM b (x INT); CREATE STREAM c (x INT);
SELECT a.x FROM a, b, c WHERE a.x < b.x;
