"""What promises are known by: one module for each kind (`watches.py`), what they close, and how they break."""
