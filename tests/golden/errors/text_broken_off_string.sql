-- negative: a string that does not end
CREATE STREAM s (a STRING);
SELECT a FROM s WHERE a = 'open;
