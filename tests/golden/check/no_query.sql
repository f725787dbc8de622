-- positive: a script without a query has nothing to check
CREATE STREAM s (a INT);
