"""What every kind of promise offers to the cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.clock import Clock
from penstock.runtime.match.matching import Matcher
from penstock.runtime.promise.violations import Breach
from penstock.runtime.state.component import Component, synopses_of
from penstock.runtime.state.synopsis import Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness

Promised = tuple[str, tuple[str, ...]]
"""A stream, by alias, and the columns of it whose values promises close."""


@dataclass
class WatchStep:
    """What the hooks of a step may look at."""

    clock: Clock
    synopses: Mapping[str, Synopsis]
    matcher: Matcher
    dropped: Mapping[str, Synopsis]
    """By alias, the keys of this batch that are not stored here: a filter dropped the row, or another cell has it."""
    chunk_of: dict[str, Ints]
    """For each fresh row of an alias, the number of its chunk among those of its stream in this batch."""
    closing: Closedness
    promised: Mapping[Promised, tuple[Synopsis, ...]]
    """The promise rows that punctuations left, by alias and columns, those of this batch as the fresh part."""
    key_ghosts: Mapping[Promised, Synopsis]
    """The promise rows that keys left, by alias and columns."""
    k: Mapping[str, int | None]
    """By constraint, the k or d in force when the batch began."""
    order: ArrivalOrder | None = None
    """The order across streams, where rows are counted by it."""
    frontiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By stream that a block gives, and by column, from which value on rows may still come after this batch."""

    @property
    def kept_rows(self) -> int:
        """The rows of all streams that the cell keeps."""
        return sum(synopsis.live for synopsis in self.synopses.values())


class Watch(Component):
    """The promises of one declaration for one alias, learned and watched. Hooks do nothing unless overridden.

    The synopses that it names are its promise rows.
    """

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        self.plan = plan
        self.promise = promise

    @cached_property
    def remembered(self) -> tuple[Synopsis, ...]:
        """The promise rows, those that stored tuples stand for left out."""
        return synopses_of(self)

    def read(self, chunk: Chunk, count: int) -> None:
        """Take note of a chunk of any stream, in order of arrival; `count` is the stream's rows up to its end."""

    sees_all_rows = False
    """Whether rows that can be in no result are looked at too; their columns may be NULL."""

    def breaches(self, step: WatchStep) -> list[Breach]:  # noqa: ARG002 - a hook
        """The fresh rows that break a promise made before them."""
        return []

    def adapt(self, breach: Breach, step: WatchStep) -> None:
        """Widen the constraint to what was seen."""

    def make(self, step: WatchStep) -> None:
        """Settle which promises the batch makes, before any of them is looked at."""

    def learn(self, step: WatchStep) -> dict[str, Ints]:  # noqa: ARG002 - a hook
        """Make the promises of the batch, after it was joined; gives the rows that they touched, by alias."""
        return {}

    def met(self) -> Mapping[str, Ints]:
        """The rows that a promise of the batch closed which a stored row stands for, by alias; not among the others."""
        return {}

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """After the purge: keep the promises that are still needed; `removed` is what was purged, by alias."""

    def forget(self, count: int) -> int:  # noqa: ARG002 - a hook
        """Forget so many promise rows to keep a budget, the eldest first; gives how many. Purges wait the longer."""
        return 0

    def dealt(self, synopses: Mapping[str, Synopsis]) -> None:
        """What several cells remembered was dealt anew, and is here: let it agree with itself and with stored rows."""

    def finish(self) -> None:
        """End the step."""
        for synopsis in self.remembered:
            synopsis.finish()

    @property
    def k(self) -> int | None:
        """The k or d in force; None for a constraint without one."""
        return None

    @property
    def is_used(self) -> bool | None:
        """Whether its promises are remembered, where that is chosen by cost; None where there is no choice."""
        return None

    @property
    def position(self) -> int:
        """How far the constraint has moved on, in the unit of its k."""
        return 0

    @property
    def promise_rows(self) -> int:
        """How many there are."""
        return sum(synopsis.live for synopsis in self.remembered)

    @property
    def promise_bytes(self) -> int:
        """Their bytes."""
        return sum(synopsis.nbytes for synopsis in self.remembered)
