-- negative: a comment that does not end
CREATE STREAM s (a STRING);
SELECT a FROM s /* to the end;
