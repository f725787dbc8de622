"""Where the time of each shape goes."""
