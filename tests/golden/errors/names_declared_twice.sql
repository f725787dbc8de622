-- negative: a stream, a sink, a column, a constraint declared twice
CREATE STREAM s (a INT, A STRING, PRIMARY KEY (a), PRIMARY KEY (a), ORDERED BY a WITHIN 3 ROWS, ORDERED BY a WITHIN 5 ROWS);
CREATE STREAM S (b INT);
CREATE SINK o USING console;
CREATE SINK O USING console;
CREATE STREAM u (a INT, b INT, PRIMARY KEY (a, a), CLUSTERED BY a, CLUSTERED BY a WITHIN AUTO, CHECK (a > 0), CHECK (a > 0));
