-- positive: FOLLOWS, in rows, in time and AUTO, on one column and on two
CREATE STREAM parents (id BIGINT, part STRING, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM a (p INT, FOLLOWS parents (id) ON (p));
CREATE STREAM b (p BIGINT, FOLLOWS parents (id) ON (p) WITHIN 200 ROWS);
CREATE STREAM c (p BIGINT, ts TIMESTAMP, EVENT TIME ts, FOLLOWS parents (id) ON (p) WITHIN 3 SECONDS);
CREATE STREAM d (p BIGINT, q STRING, FOLLOWS parents (id, part) ON (p, q) WITHIN AUTO ON VIOLATION ADAPT);
