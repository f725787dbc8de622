-- positive: CREATE SINK, with and without options
CREATE SINK out USING parquet OPTIONS (path 'out/bids');
CREATE SINK screen USING console;
CREATE SINK updates USING delta OPTIONS (path 'out', mergeSchema TRUE);
