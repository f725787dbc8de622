"""Ordinary jobs of several shapes, beside Spark's own plans for them."""
