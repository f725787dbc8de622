-- positive: a whole number beside a DATE is one of days, in every spelling that Spark has
CREATE STREAM s (a INT, day DATE, ts TIMESTAMP, EVENT TIME day, ORDERED BY day);
SELECT x.a FROM s x JOIN s y ON x.a = y.a AND y.day BETWEEN x.day - 1 AND x.day + 2;
SELECT x.a FROM s x JOIN s y ON x.a = y.a AND y.day BETWEEN date_sub(x.day, 1) AND date_add(x.day, 2);
SELECT x.a FROM s x JOIN s y ON x.a = y.a AND 1 + x.day < y.day AND y.day - 2 <= date_sub(x.day, -1);
SELECT x.a FROM s x JOIN s y ON x.a = y.a AND y.ts BETWEEN x.ts AND date_add(x.ts, 2);
