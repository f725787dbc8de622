-- positive: words of the language are names where nothing else can be meant
CREATE STREAM stream (
  event STRING, time TIMESTAMP, rows INT, range INT, window INT, key INT, follows INT, arrives INT, primary INT,
  virtual VIRTUAL, check BIGINT, sink STRING, auto INT, value INT,
  EVENT TIME time, ORDERED BY rows WITHIN 3 ROWS, PRIMARY KEY (key, value)
);
SELECT event, rows, range, window, key, s.time AS `select` FROM stream [ROWS 3] AS s WHERE rows > range AND key = 3;
