"""How evenly cells share the rows of a query, and what copies cost."""
