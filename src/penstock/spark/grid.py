"""Cells under the keys by which Spark knows them, chosen so that its hash spreads them evenly over its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.plan.plan import Plan
from penstock.runtime.input.grid import Grid


@dataclass(frozen=True)
class KeyedGrid(Grid):
    """The cells of a query, each with its key."""

    keys: tuple[int, ...]

    @classmethod
    def over(
        cls,
        plan: Plan,
        cells: int,
        partitions: int,
        rates: Mapping[str, float] | None = None,
        *,
        may_copy: bool = True,
    ) -> KeyedGrid:
        """At most that many cells, over so many partitions of the shuffle; with copies of rows only if they may be."""
        grid = Grid.of(plan, cells, rates, may_copy=may_copy)
        return cls(grid.shares, balanced_keys(grid.cells, partitions))


def balanced_keys(cells: int, partitions: int) -> tuple[int, ...]:
    """An integer for each cell such that Spark's hash partitioning puts them on partitions in turn."""
    keys: list[int] = []
    wanted = 0
    candidates: dict[int, list[int]] = {}
    number = 0
    while len(keys) < cells:
        waiting = candidates.setdefault(wanted % partitions, [])
        while not waiting:
            candidates.setdefault(spark_hash(number) % partitions, []).append(number)
            number += 1
        keys.append(waiting.pop(0))
        wanted += 1
    return tuple(keys)


def spark_hash(value: int) -> int:
    """Spark's `hash` of one INT: 32-bit Murmur 3 with seed 42, signed."""

    def rotate(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (32 - bits))) & 0xFFFFFFFF

    word = (value & 0xFFFFFFFF) * 0xCC9E2D51 & 0xFFFFFFFF
    word = rotate(word, 15) * 0x1B873593 & 0xFFFFFFFF
    mixed = (rotate(42 ^ word, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    mixed ^= 4
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >= 1 << 31 else mixed
