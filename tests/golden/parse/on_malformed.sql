-- positive: what is done with a value that does not read as its declared type
CREATE SINK odd USING json OPTIONS (path 'out/odd');
CREATE STREAM a (k INT, `on` STRING, ON MALFORMED FAIL, CHECK (k > 0)) USING json OPTIONS (path 'a');
CREATE STREAM b (k INT, on malformed null) USING csv OPTIONS (path 'b');
CREATE STREAM c (ON MALFORMED QUARANTINE, k INT) USING csv OPTIONS (path 'c');
CREATE STREAM d (k INT, ON MALFORMED QUARANTINE INTO ODD) USING csv OPTIONS (path 'd');
