"""Growing inputs: rows laid out, the declarations that they keep, and what they show."""
