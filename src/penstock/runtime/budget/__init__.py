"""Eviction (SHED): a hard budget kept with the least loss, and an account of what was lost. See `eviction.py`."""
