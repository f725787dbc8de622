-- negative: derived columns over what is not there, over later ones, with aggregates
CREATE STREAM s (
  a INT,
  b INT AS (c + 1),
  c INT AS (a + 1),
  d INT AS (d + 1),
  e INT AS (max(a)),
  f INT AS ((SELECT 1))
);
