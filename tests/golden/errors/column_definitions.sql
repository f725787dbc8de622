-- negative: columns without a type, of an unknown type, with SQL that a stream does not take
CREATE STREAM s (
  a,
  b BIGNIT,
  c INT NOT NULL,
  d STRING DEFAULT 'x',
  e INT PRIMARY KEY,
  f DECIMAL(,2),
  g UUID,
  order INT,
  h INT AS a + 1,
  i INT AS (nope + 1),
  j INT AS (k), k INT AS (a),
  l VARCHAR,
  m INT COMMENT 'text'
);
CREATE STREAM t ();
CREATE STREAM u;
CREATE STREAM 5 (a INT);
CREATE STREAM v (a INT) OPTIONS (path 'x');
CREATE STREAM w (a INT;
CREATE STREAM x (a INT,);
CREATE STREAM db.y (a INT);
