-- negative: conditions that name no column; IN of nothing
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT a FROM s WHERE 1 = 2;
SELECT a FROM s WHERE rand() < 0.5;
SELECT a FROM s WHERE a IN ();
SELECT a FROM s WHERE FALSE;
