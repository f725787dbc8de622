"""Queries that are trees of blocks: what is promised of a block's answer, and the verdict on the whole."""
