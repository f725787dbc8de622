"""REWRITE section 5: connections without a FIN, by joins, by samples, and by counts."""
