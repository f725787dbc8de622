"""The plan of a query as inert data, and the planner that makes it from a query and its verdict.

`plan.py` holds the records, `codec.py` their JSON, `bounds.py` the closure of time bounds, `planner.py` the way from
a query to a plan, `closers.py` and `purge_trees.py` its two larger steps. Nothing here imports numpy, Arrow or Spark.
"""
