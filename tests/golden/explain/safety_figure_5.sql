-- positive: SAFETY, Figures 5 and 7: a cycle of three punctuated streams is safe, but as no tree of binary joins
CREATE STREAM s1 (a BIGINT, b BIGINT, kind STRING, PUNCTUATED ON (b) WHEN kind = 'closed');
CREATE STREAM s2 (b BIGINT, c BIGINT, kind STRING, PUNCTUATED ON (c) WHEN kind = 'closed');
CREATE STREAM s3 (c BIGINT, a BIGINT, kind STRING, PUNCTUATED ON (a) WHEN kind = 'closed');
SELECT s1.a, s2.b, s3.c FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a;
