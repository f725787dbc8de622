"""The arguments of this room's functions, checked once: a wrong one is a UsageError that says what to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError

Ints: TypeAlias = npt.NDArray[np.int64]
Keys: TypeAlias = Sequence[int] | npt.NDArray[Any]

ALLOCATIONS = ("fixed", "variable")


def whole_number(name: str, given: object, least: int) -> int:
    """A whole number that is at least `least`."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise UsageError(f"{name} is {given!r}", hint=f"give a whole number, {least} or more")
    if given < least:
        raise UsageError(f"{name} is {given}", hint=f"give {least} or more")
    return int(given)


def one_of(name: str, given: object, known: Sequence[str]) -> str:
    """One of the names known."""
    if not isinstance(given, str) or given not in known:
        raise UsageError(f"there is no {name} {given!r}", detail=f"there are: {', '.join(known)}")
    return given


_KEYS = "number the join keys, for instance with numpy.unique(keys, return_inverse=True)"


def integers(name: str, given: Keys, hint: str = _KEYS) -> Ints:
    """A sequence of integers, as a column; the hint is for who gives something else."""
    try:
        column = np.asarray(given)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} is no sequence of integers", detail=str(error)) from error
    if column.ndim == 1 and column.size == 0:
        return np.zeros(0, dtype=np.int64)
    if column.ndim != 1 or column.dtype.kind not in "iu" or not np.can_cast(column.dtype, np.int64):
        raise UsageError(
            f"{name} is no sequence of integers that fit 64 bits",
            hint=hint,
        )
    return column.astype(np.int64)


def paired(r: Keys, s: Keys) -> tuple[Ints, Ints]:
    """Both streams' keys as small codes, the same code for the same key."""
    left, right = integers("r", r), integers("s", s)
    if len(left) != len(right):
        raise UsageError(
            f"r has {len(left)} arrivals and s has {len(right)}",
            detail="one tuple arrives on each stream at each step",
            hint="cut the longer one, or use optimal_general, which takes the steps of arrival",
        )
    _, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
    return codes[: len(left)].astype(np.int64), codes[len(left) :].astype(np.int64)
