"""SHED's experiments: Figures 4 to 13, and the budget on Spark."""
