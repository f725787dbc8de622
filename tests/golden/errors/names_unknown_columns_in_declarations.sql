-- negative: unknown columns in every kind of constraint, on both sides
CREATE STREAM t (id INT, PRIMARY KEY (idd));
CREATE STREAM s (
  a INT, kind STRING,
  EVENT TIME tss,
  ARRIVES BY sequence,
  ORDERED BY aa,
  CLUSTERED BY knd,
  FOLLOWS t (ident) ON (a),
  FOREIGN KEY (aa) REFERENCES t (id),
  COOCCURS (a) AND t (di),
  PUNCTUATED ON (a) WHEN kin = 'x',
  CHECK (b > 0),
  CHECK (s.a > 0),
  d INT AS (aa + 1)
) WHERE kid = 3;
