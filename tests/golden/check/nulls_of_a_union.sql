-- positive: what columns of the later queries of a union are called changes nothing, and is not told
CREATE STREAM a (k BIGINT, v BIGINT);
CREATE STREAM b (k BIGINT, w BIGINT);
SELECT k, v, 1 AS w FROM a UNION ALL SELECT k, k, k FROM b;
