-- positive: promise schemes with what they refer to, their policies, and what makes low known
CREATE STREAM auctions (id BIGINT, seller INT, conn VIRTUAL, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM bids (
  seq BIGINT, auction INT, price BIGINT, kind STRING, conn VIRTUAL, ts TIMESTAMP,
  EVENT TIME ts, ARRIVES BY ts,
  CLUSTERED BY auction WITHIN 1000 ROWS ON VIOLATION FAIL,
  FOLLOWS auctions (id) ON (auction) WITHIN 200 ROWS,
  FOREIGN KEY (auction) REFERENCES auctions WINDOW [-5 SECONDS, 0],
  STREAM KEY (conn) SPANS auctions WINDOW [0, *],
  COOCCURS (auction) AND auctions (id) WINDOW [-5 SECONDS, 0],
  PUNCTUATED ON (auction) WHEN kind = 'closed' AND length(kind) > 3 LIFESPAN 5 HOURS,
  CHECK (price BETWEEN 1 AND 9)
) WHERE kind IN ('bid', 'closed');
