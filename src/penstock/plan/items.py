"""A punctuation that closes what DISTINCT or GROUP BY remembers: inert data, found by `plan/item_closing.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ItemCloser:
    """Punctuations of a stream, by the number of their promise, and the columns of the items that hold their values."""

    alias: str
    promise: int
    columns: tuple[str, ...]
    names: tuple[str, ...]
    """Of the groups' keys; for DISTINCT, of the columns that the core hands out."""
