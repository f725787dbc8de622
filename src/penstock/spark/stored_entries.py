"""The entries of a cell in Spark's own store, large tables compressed on their way there.

A value goes through several copies before it lies in Spark's store and in its changelog, at some 70 MB a second; zstd
makes half as many bytes of random identities in a fifth of that time. What is read comes out as it was put in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.state.store import SEGMENT, compressed, expanded

_LEAST = 1 << 14
"""Bytes from which on it is worth it."""


class StoredEntries:
    """A map state of Spark's, (name) to (bytes)."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def getValue(self, key: tuple[str]) -> tuple[Any] | None:  # noqa: N802 - as Spark names it
        """One entry."""
        found = self._state.getValue(key)
        return None if found is None else (expanded(found[0]),)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802 - as Spark names it
        """Write an entry."""
        (data,) = value
        is_worth_it = key[0].startswith(SEGMENT) and len(data) >= _LEAST
        self._state.updateValue(key, (compressed(data) if is_worth_it else data,))

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 - as Spark names it
        """Remove an entry."""
        self._state.removeKey(key)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[Any]]]:
        """All entries."""
        for name, value in self._state.iterator():
            yield (name[0],), (expanded(value[0]),)

    def clear(self) -> None:
        """Remove all entries."""
        self._state.clear()
