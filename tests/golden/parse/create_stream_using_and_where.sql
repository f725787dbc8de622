-- positive: USING with options of every form, and WHERE
CREATE STREAM a (x INT) USING parquet;
CREATE STREAM b (x INT, kind STRING) USING org.apache.spark.sql.kafka OPTIONS (
  'kafka.bootstrap.servers' 'host:9092', subscribe = 'topic', maxOffsetsPerTrigger 1000, failOnDataLoss FALSE,
  startingOffsets 'it''s', offset -1.5
) WHERE kind IN ('bid', 'closed') AND x > 0;
CREATE STREAM c (x INT) WHERE x IS NOT NULL;
