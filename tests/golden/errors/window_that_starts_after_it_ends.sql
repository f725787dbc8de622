-- negative: windows whose start is after their end, or that are no windows
CREATE STREAM t (id INT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM s (
  a INT, ts TIMESTAMP, EVENT TIME ts,
  COOCCURS (a) AND t (id) WINDOW [5 SECONDS, 0],
  COOCCURS (a) AND t (id) WINDOW [1 MINUTE, 30 SECONDS],
  FOREIGN KEY (a) REFERENCES t (id) WINDOW [0, -1 HOUR],
  FOREIGN KEY (a) REFERENCES t (id) WINDOW (0, 1 HOUR),
  FOREIGN KEY (a) REFERENCES t (id) WINDOW [1 HOUR],
  STREAM KEY (a) SPANS t WINDOW [a, b]
);
