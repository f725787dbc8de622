-- positive: a BUDGET bounds what nothing else does, and the answer is not exact

CREATE STREAM auctions (
  id BIGINT, seller BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS
);
SELECT /*+ BUDGET(100000 ROWS), EVICT(prob) */ a.id, b.price FROM auctions AS a, bids AS b WHERE a.id = b.auction;
