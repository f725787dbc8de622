"""Streams, promise schemes, predicates, queries, the join graph: frozen records that cannot be built wrong.

Imports nothing of ours.
"""
