"""Outer joins, EXISTS and NOT EXISTS: rows with NULLs once they are certain, and never taken back.

`join_tree.py` drives the nodes of the plan, `node.py` is one of them, `settling.py` says when a row can match no more.
"""
