"""What the cells give, dealt out to the buckets of the second stage.

Rows go by their own hash, or by that of their group; what a cell tells goes to every bucket, and what is only handed on
to one of them in turn. Cells deal what they give themselves: a step of its own between the two stages is one worker
more to be spoken to in each task. Only where Spark evaluates something in between is there such a step
(`unpack.EvaluatedRedealer`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.plan.aggregate import KeySet
from penstock.runtime.group.between_stages import deal, typed

DEALT = "target INT, kind STRING, payload BINARY"
"""The columns of what is dealt to the second stage."""


@dataclass(frozen=True)
class Dealer:
    """To which buckets what a cell gives goes; they are known by the keys that Spark groups by."""

    keys: tuple[int, ...]
    groups: tuple[str, ...] | None = None
    """The columns of the group, of which there may be none; None where rows are dealt out by all columns."""
    sets: tuple[KeySet, ...] = ()
    """The sets of keys that are grouped by, where there are several."""
    schema: Any = ()
    """The columns that the cells give: a cell that has seen no row of a stream does not know their types."""

    def rows(self, table: Any) -> Iterator[tuple[int, Any]]:
        """The rows of each bucket that has any."""
        if table.num_rows:
            for bucket, rows in deal(typed(table, self.schema), len(self.keys), self.groups, self.sets):
                yield self.keys[bucket], rows

    def in_turn(self, number: int) -> int:
        """Who is handed what is for none of them."""
        return self.keys[number % len(self.keys)]
