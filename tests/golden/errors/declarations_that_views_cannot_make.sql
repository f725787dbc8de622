-- negative: what is about rows as they are read has no meaning of a view.
CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE VIEW parted (PARTS BY k) AS SELECT k, ts FROM s WHERE v > 3;
CREATE VIEW misread (ON MALFORMED NULL) AS SELECT k, ts FROM s WHERE v > 3;
CREATE VIEW silent (EVENT TIME ts IDLE AFTER 5 MINUTES) AS SELECT k, ts FROM s WHERE v > 3;
CREATE VIEW unseen (conn VIRTUAL, PRIMARY KEY (k)) AS SELECT k, ts FROM s WHERE v > 3;
SELECT k FROM s;
