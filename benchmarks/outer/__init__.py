"""Left-outer and anti-joins beside the inner join of the same streams."""
