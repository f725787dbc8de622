"""Other stream processors on the same join."""
