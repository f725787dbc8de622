"""Penstock: continuous multi-way joins on Spark Structured Streaming, with their state bounded."""

__version__ = "0.1.0"
