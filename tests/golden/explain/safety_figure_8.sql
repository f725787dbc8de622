-- negative: SAFETY, Figure 8 as printed: a generalized edge purges s1 and s2, and nothing purges s3 (ERRATA)
CREATE STREAM s1 (a BIGINT, b BIGINT, kind STRING, PUNCTUATED ON (b) WHEN kind = 'closed');
CREATE STREAM s2 (b BIGINT, c BIGINT, kind STRING, PUNCTUATED ON (b) WHEN kind = 'closed',
  PUNCTUATED ON (kind) WHEN c = 0);
CREATE STREAM s3 (c BIGINT, a BIGINT, kind STRING, PUNCTUATED ON (c, a) WHEN kind = 'closed');
SELECT s1.a, s2.b, s3.c FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a;
