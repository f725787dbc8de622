-- negative: USING and OPTIONS that cannot be read
CREATE SINK a;
CREATE SINK b USING parquet OPTIONS (path);
CREATE SINK c USING parquet OPTIONS (path 'x', PATH 'y');
CREATE SINK d USING parquet OPTIONS ();
CREATE SINK e (a INT) USING parquet;
CREATE SINK f USING 'parquet';
CREATE STREAM g (a INT) USING csv OPTIONS (header yes);
CREATE STREAM h (a INT) WHERE a > 1 USING csv;
