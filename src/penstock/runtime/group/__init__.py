"""Aggregates: counts, sums and extremes below the join, along its tree, and group by group."""
