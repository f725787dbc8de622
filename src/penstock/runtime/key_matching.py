"""Rows of two synopses that agree on a list of columns, and rows of one that repeat an earlier one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.runtime.codes import Bools, Hashes, Ints, combine, empty_ids, is_coded, same
from penstock.runtime.synopsis import Synopsis


@dataclass(frozen=True)
class Keyed:
    """A synopsis, and the columns of it that are compared."""

    synopsis: Synopsis
    columns: tuple[str, ...]

    def keys(self, ids: Ints) -> Hashes:
        """The hashes of rows."""
        return combine([self.synopsis.hashes(column, ids) for column in self.columns])

    @property
    def exact(self) -> bool:
        """Whether equal hashes are equal values."""
        return len(self.columns) == 1 and is_coded(self.synopsis.kind(self.columns[0]))


def match_keys(source: Keyed, ids: Ints, target: Keyed, part: str) -> tuple[Ints, Ints]:
    """All (place in ids, living row of target) whose values agree."""
    if not len(ids) or target.synopsis.size(part) == 0:
        return empty_ids(), empty_ids()
    left, right = target.synopsis.probe(part, target.columns, source.keys(ids))
    if target.exact:
        return left, right
    keep = agree(source, ids[left], target, right)
    return left[keep], right[keep]


def agree(source: Keyed, ids: Ints, target: Keyed, other_ids: Ints) -> Bools:
    """Whether the values of rows at the same place are equal."""
    equal: Bools = np.ones(len(ids), np.bool_)
    for column, target_column in zip(source.columns, target.columns, strict=True):
        if not len(ids):
            break
        if is_coded(target.synopsis.kind(target_column)):
            equal &= source.synopsis.codes(column, ids) == target.synopsis.codes(target_column, other_ids)
        else:
            equal &= same(source.synopsis.arrow(column, ids), target.synopsis.arrow(target_column, other_ids))
    return equal


def repeated(keys: Hashes) -> tuple[Ints, Ints]:
    """Pairs (earlier, later) of places with equal hashes, each later one with the one just before it.

    Most keys differ from all others: a table over the low end of the hash finds the few that may not, and only
    they are sorted.
    """
    size = 1 << max(4, int(len(keys) * 4).bit_length())
    slot = (keys & np.uint64(size - 1)).astype(np.int64)
    owner = np.zeros(size, np.int32)
    places = np.arange(len(keys), dtype=np.int32)
    owner[slot] = places
    crowded = np.zeros(size, np.bool_)
    crowded[slot[owner[slot] != places]] = True
    suspects = np.flatnonzero(crowded[slot])
    order = suspects[np.argsort(keys[suspects], kind="stable")]
    twin = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) if len(order) else empty_ids()
    return order[twin], order[twin + 1]
