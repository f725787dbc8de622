-- negative: groups that change, into a sink that only appends
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE SINK files USING parquet OPTIONS (path 'x');
INSERT INTO files SELECT a, count(*) AS n FROM s GROUP BY a;
INSERT INTO files SELECT count(*) AS n FROM s;
INSERT INTO files SELECT to_date(ts) AS d, count(*) AS n FROM s GROUP BY to_date(ts);
INSERT INTO files SELECT year(ts) AS d, count(*) AS n FROM s GROUP BY year(ts);
