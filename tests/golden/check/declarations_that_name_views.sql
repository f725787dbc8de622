-- positive: declarations name views, and streams the views that stand after them; both are closed by them.
CREATE STREAM bids (
  auction BIGINT, price BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, CHECK (auction IS NOT NULL)
);
CREATE STREAM payments (
  auction BIGINT, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS,
  COOCCURS (auction) AND best (auction) WINDOW [-10 MINUTES, 0]
);
CREATE VIEW best AS
SELECT window(ts, '1 minute').end AS until, auction, max(price) AS most
FROM bids GROUP BY auction, window(ts, '1 minute');
CREATE VIEW paid (FOLLOWS dear (auction) ON (auction) WITHIN 0 SECONDS) AS
SELECT auction, ts FROM payments WHERE auction > 0;
CREATE VIEW dear (PRIMARY KEY (auction, ts), COOCCURS (auction) AND paid (auction) WINDOW [0, 1 HOUR]) AS
SELECT auction, until AS ts, most FROM best WHERE most > 100;

SELECT p.auction, b.most FROM payments AS p JOIN best AS b ON b.auction = p.auction;
SELECT p.auction, d.most FROM paid AS p LEFT JOIN dear AS d ON d.auction = p.auction;
