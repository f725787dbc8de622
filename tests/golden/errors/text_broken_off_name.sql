-- negative: a name in backticks that does not end
CREATE STREAM s (a STRING);
SELECT `a FROM s;
