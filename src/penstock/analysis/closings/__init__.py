"""Which declaration closes which stream for whose rows, and when: derived once, as values."""
