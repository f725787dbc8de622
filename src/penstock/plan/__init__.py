"""The plan of a query as inert data, and the planner that makes it from a query and its verdict.

`plan.py` holds the records, `codec.py` their JSON, `planner.py` the way from a query to a plan. What closes what is
the analysis's to say (`analysis/closings`); `closers.py` writes it down. Nothing here imports numpy, Arrow or Spark.
"""
