"""The cells of a query on Spark: how many there are, and the key by which Spark knows each.

**How many** is fixed when a query first starts, by its plan, and kept in its checkpoint: state lies by cell, so a run
on another number of cores goes on with the cells that are there, several to a task or some cores without one. Where
rows need not be copied there are more cells than cores, so that a checkpoint has room to move to a larger machine.
Where they must be, each cell more holds copies more, and there are as many as cores.

**The key** of cell n is the integer whose hash, as Spark takes it, is n. Spark puts a key on the partition that its
hash says, modulo their number: so the cells go to the partitions in turn, however many these are. Spark's hash of an
integer (Murmur 3) takes no two of them to one value, and each of its steps has an inverse.

Not decided here: which cells a row goes to (`runtime/input/grid.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import UsageError
from penstock.plan.plan import Plan
from penstock.runtime.input.grid import Grid

CELLS = "penstock.cells"
LEAST_CELLS = 4
"""Of a query whose rows need no copies, on however few cores it first starts."""

_WORD = 0xFFFFFFFF
_SEED = 42
_BYTES = 4


@dataclass(frozen=True)
class KeyedGrid(Grid):
    """The cells of a query, each with its key."""

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """By the number of a cell, its key."""
        return tuple(map(key_of, range(self.cells)))

    @classmethod
    def over(cls, plan: Plan, cells: int, *, may_copy: bool = True) -> KeyedGrid:
        """At most that many cells; with copies of rows only if they may be."""
        return cls(Grid.of(plan, cells, may_copy=may_copy).shares)

    @classmethod
    def like(cls, grid: Grid) -> KeyedGrid:
        """The cells of a grid."""
        return cls(grid.shares, grid.splits)

    @classmethod
    def first(cls, plan: Plan, cores: int) -> KeyedGrid:
        """The cells that a query starts with on so many cores, where nobody says how many."""
        free = cls.over(plan, max(LEAST_CELLS, 2 * cores), may_copy=False)
        # A copy takes room of a budget that another row could have.
        return free if free.cells > 1 or plan.evict is not None else cls.over(plan, max(2, cores))


def whole_cells(text: str) -> int:
    """A number of cells, as a setting gives it."""
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{CELLS} is a number of cells, at least 1, not {text}")
    return int(text)


def key_of(cell: int) -> int:
    """The INT of which Spark's `hash` (32-bit Murmur 3 with seed 42) is that number, which is not below 0."""
    mixed = cell
    mixed ^= mixed >> 16
    mixed = mixed * _inverse(0xC2B2AE35) & _WORD
    mixed ^= mixed >> 13 ^ mixed >> 26
    mixed = mixed * _inverse(0x85EBCA6B) & _WORD
    mixed ^= mixed >> 16
    mixed ^= _BYTES
    mixed = (mixed - 0xE6546B64) * _inverse(5) & _WORD
    word = _rotated(mixed, 32 - 13) ^ _SEED
    word = _rotated(word * _inverse(0x1B873593) & _WORD, 32 - 15)
    word = word * _inverse(0xCC9E2D51) & _WORD
    return word - (1 << 32) if word >= 1 << 31 else word


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _WORD


def _inverse(odd: int) -> int:
    return pow(odd, -1, 1 << 32)
