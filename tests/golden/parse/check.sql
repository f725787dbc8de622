-- positive: CHECK: comparisons, IN, BETWEEN, and what only Spark understands
CREATE STREAM s (
  price BIGINT, kind STRING, rate DECIMAL(5,2), day DATE, ts TIMESTAMP, ok BOOLEAN, low INT, high INT,
  CHECK (price > 0 AND price < 1000000),
  CHECK (kind IN ('a', 'b')),
  CHECK (rate BETWEEN 0 AND 99.5) ON VIOLATION QUARANTINE,
  CHECK (day >= DATE '2024-01-01' AND ts < TIMESTAMP '2030-01-01 00:00:00'),
  CHECK (ok),
  CHECK (NOT (low > high)),
  CHECK (low <= high),
  CHECK (price IS NOT NULL OR kind IS NULL),
  CHECK (5 < price)
);
