"""OPT-offline in general (SHED 6.1): any join, a value for each pair, any arrivals, windows and memory that vary.

Each tuple is a chain of its own, with a node for each later step at which partners arrive: the graph follows the
number of results. Pairs that arrive at the same step are always output. A tuple with window w that arrived at step i
meets the arrivals of the steps before i + w; a window for each step is that of the tuples that arrive then, as in
6.1.1.

Values are whole numbers, because the flow is exact only in whole numbers. They may be negative: a tuple that is kept
gives all its pairs. Values that depend on what was output before cannot be had by a flow (6.1.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.offline.arguments import ALLOCATIONS, Ints, Keys, integers, one_of, whole_number
from penstock.offline.network import Chains, most_gain

Worth = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]]
"""Of pairs, given as a column of R's keys and one of S's."""

NEVER = 2**31
"""The window of a tuple that never expires."""
_STEPS = "give a whole number for each"


@dataclass(frozen=True)
class Arrivals:
    """One stream: keys, steps in order, and the first step that no longer meets the tuple."""

    keys: npt.NDArray[Any]
    step: Ints
    end: Ints


def optimal_general(  # noqa: PLR0917 - as `optimal`
    r: Sequence[Any] | npt.NDArray[Any],
    s: Sequence[Any] | npt.NDArray[Any],
    window: int | Keys | None,
    memory: int | Keys,
    allocation: Literal["fixed", "variable"] = "fixed",
    warmup: int = 0,
    *,
    r_steps: Keys | None = None,
    s_steps: Keys | None = None,
    joins: Worth | None = None,
    value: Worth | None = None,
) -> int:
    """The greatest total value of result pairs, from step `warmup` on.

    `window` and `memory` are numbers, or one number for each step; a window of None never ends. `r_steps` and `s_steps`
    are the steps of arrival, never falling; left out, one arrival a step. `joins` says which pairs join (equal keys if
    left out) and `value` what a pair is worth (1 if left out); both take a column of R's keys and one of S's.
    """
    fixed = one_of("allocation", allocation, ALLOCATIONS) == "fixed"
    warmup = whole_number("warmup", warmup, 0)
    at_r, at_s = _steps("r", r, r_steps), _steps("s", s, s_steps)
    steps = int(max([*at_r[-1:], *at_s[-1:]], default=-1)) + 1
    room = _each_step("memory", memory, steps, 0)
    lasting = np.full(steps, NEVER) if window is None else _each_step("window", window, steps, 1)
    of_r, of_s = (
        Arrivals(np.asarray(keys), at, at + lasting[at]) if len(at) else Arrivals(np.asarray(keys), at, at)
        for keys, at in ((r, at_r), (s, at_s))
    )

    def worth(r_rows: Ints, s_rows: Ints) -> Ints:
        left, right = of_r.keys[r_rows], of_s.keys[s_rows]
        agree = np.asarray(left == right if joins is None else joins(left, right), dtype=bool)
        if value is None:
            return agree.astype(np.int64)
        return np.where(agree, integers("value", value(left, right), "multiply by a power of ten, and round"), 0)

    at_once, chains_r = _by_tuple(of_r, of_s, warmup, worth)
    _, chains_s = _by_tuple(of_s, of_r, warmup, lambda s_rows, r_rows: worth(r_rows, s_rows))
    between = room[: max(steps - 1, 0)]
    if fixed:
        return at_once + most_gain(chains_r, between - between // 2) + most_gain(chains_s, between // 2)
    return at_once + most_gain(chains_r.and_then(chains_s), between)


def _steps(name: str, keys: Sequence[Any] | npt.NDArray[Any], given: Keys | None) -> Ints:
    if given is None:
        return np.arange(len(keys))
    steps = integers(f"{name}_steps", given, _STEPS)
    if len(steps) != len(keys):
        raise UsageError(f"{name} has {len(keys)} arrivals and {name}_steps {len(steps)}", hint="give a step for each")
    if len(steps) and (steps[0] < 0 or (np.diff(steps) < 0).any()):
        raise UsageError(f"{name}_steps falls, or is below 0", hint="give the arrivals in order, from step 0 on")
    return steps


def _each_step(name: str, given: int | Keys, steps: int, least: int) -> Ints:
    if isinstance(given, int | np.integer):
        return np.full(steps, min(whole_number(name, given, least), NEVER))
    numbers = integers(name, given, _STEPS)
    if len(numbers) < steps:
        raise UsageError(f"{name} has {len(numbers)} numbers for {steps} steps", hint="give one for each step")
    if (numbers < least).any():
        raise UsageError(f"{name} is {int(numbers.min())} at some step", hint=f"give {least} or more")
    return np.minimum(numbers[:steps], NEVER)


def _by_tuple(
    stored: Arrivals, partners: Arrivals, warmup: int, worth: Callable[[Ints, Ints], Ints]
) -> tuple[int, Chains]:
    """The value of pairs that arrive together, and a chain for each tuple that a later partner joins."""
    first = np.searchsorted(partners.step, np.maximum(stored.step, warmup))
    counts = np.maximum(np.searchsorted(partners.step, stored.end) - first, 0)
    kept, met, gains = [], [], []
    at_once = 0
    # One stored tuple at a time against the column of those it meets: all pairs at once would not fit in memory.
    for row in np.flatnonzero(counts).tolist():
        rows = np.arange(first[row], first[row] + counts[row])
        gained = worth(np.full(len(rows), row), rows)
        together = partners.step[rows] == stored.step[row]
        at_once += int(gained[together].sum())
        later = ~together & (gained != 0)
        kept.append(np.full(int(later.sum()), row))
        met.append(partners.step[rows[later]])
        gains.append(gained[later])
    none = np.zeros(0, dtype=np.int64)
    row_of, step, gain = (np.concatenate([none, *parts]) for parts in (kept, met, gains))
    starts = np.flatnonzero((np.diff(row_of, prepend=-1) != 0) | (np.diff(step, prepend=-1) != 0))
    gain = np.add.reduceat(gain, starts) if len(starts) else none
    row_of, step = row_of[starts], step[starts]
    begins = np.diff(row_of, prepend=-1) != 0
    carried = np.where(begins, 0, 1)
    entry = np.flatnonzero(begins)
    last = step[np.append(entry[1:], len(step)) - 1] if len(entry) else none
    return at_once, Chains(row_of, step, gain, carried, stored.step[row_of[entry]], entry, last)
