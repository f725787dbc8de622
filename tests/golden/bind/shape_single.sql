-- positive: one stream
CREATE STREAM a (k INT); SELECT k FROM a WHERE k > 1;
