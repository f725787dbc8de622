-- negative: FOLLOWS to an unknown stream; keys of different types or numbers; no primary key to refer to
CREATE STREAM t (id BIGINT, name STRING, n DECIMAL(5,2));
CREATE STREAM two (id BIGINT, k INT, PRIMARY KEY (id), PRIMARY KEY (k));
CREATE STREAM s (
  a STRING, b INT, c DECIMAL(7,2),
  FOLLOWS nowhere (id) ON (a),
  FOLLOWS t (id) ON (a),
  FOREIGN KEY (b) REFERENCES t (name),
  COOCCURS (c) AND t (n),
  FOLLOWS t (id, name) ON (b),
  FOREIGN KEY (b) REFERENCES t,
  FOREIGN KEY (b) REFERENCES two,
  STREAM KEY (b) SPANS t
);
