"""The engine on Spark: the only room that imports pyspark.

    source -> pack -> shuffle by cell -> operator -> unpack -> sink

A stream is read by Spark; `pack` turns each piece of it into one row for each cell, header and Arrow bytes; the
shuffle moves those few large rows; the operator runs one cell of the core for each key and keeps its state in Spark's
store; `unpack` gives typed columns again. Recovery and exactly-once are Spark's.
"""
