"""`penstock bench scaling`."""
