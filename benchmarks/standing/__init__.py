"""`penstock bench standing`."""
