"""Ordinary jobs over a stream ten times as long: nothing grows."""
