"""The joins of a cell, a tree of nodes of which the inner join is the trivial case; and when its rows may leave.

`join_tree.py` drives the nodes of the plan, `node.py` is one of them, `settling.py` says when a row can match no more,
`purge.py` when a stored row is useless.
"""
