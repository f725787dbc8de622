"""Columns as numbers: codes that keep order, hashes that never change, whole rows compared. No state."""
