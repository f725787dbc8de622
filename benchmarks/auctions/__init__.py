"""Auctions: items, bids, and punctuations that say when an item has had its last bid (SAFETY's running example)."""
