-- negative: two queries that would have one name
CREATE STREAM s (a INT);
CREATE SINK out USING console;
CREATE SINK out_2 USING console;
CREATE SINK Query_5 USING console;
INSERT INTO out SELECT a FROM s;
INSERT INTO out SELECT a FROM s WHERE a > 1;
INSERT INTO out_2 SELECT a FROM s;
INSERT INTO query_5 SELECT a FROM s;
SELECT a FROM s;
