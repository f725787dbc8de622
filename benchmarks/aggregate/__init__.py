"""Aggregates of joins in which each key meets a thousand times over."""
