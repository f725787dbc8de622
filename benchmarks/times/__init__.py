"""`penstock bench times`."""
