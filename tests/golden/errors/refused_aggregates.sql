-- negative: aggregates that are not in the language, FILTER out of place, WITHIN GROUP
CREATE STREAM s (a INT, b STRING, c BIGINT, ok BOOLEAN, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, d STRING, ts TIMESTAMP, EVENT TIME ts);
SELECT collect_list(a) AS x FROM s;
SELECT skewness(a) AS x FROM s;
SELECT upper(b) FILTER (WHERE a > 1) AS n FROM s;
SELECT count(*) FILTER (WHERE max(a) > 1) AS n FROM s;
SELECT bool_and(a) AS x FROM s;
SELECT count_if(a) FILTER (WHERE unknown) AS x FROM s;
SELECT sum(a ORDER BY b) AS x FROM s;
SELECT sum(*) AS x FROM s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS m FROM s;
SELECT median(DISTINCT a) AS x FROM s;
SELECT count(DISTINCT a, b) AS x FROM s;
SELECT first(a) AS x FROM s;
SELECT max_by(a, c) AS x FROM s;
SELECT percentile(a, 0.3) AS x FROM s;
SELECT stddev(b) AS x FROM s;
