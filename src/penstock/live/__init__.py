"""The page on which a run is watched: what stays the same of a query, its batches, the page, and who serves it."""
