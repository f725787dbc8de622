-- positive: a constraint may name a stream that is declared after it; so may a query
SELECT b.x FROM b;
CREATE STREAM a (x INT, FOLLOWS b (x) ON (x), FOREIGN KEY (x) REFERENCES b);
CREATE STREAM b (x INT, PRIMARY KEY (x));
