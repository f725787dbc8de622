"""The ways in which promises rule out the future partners of a tuple: the plan writes them, the runtime asks them.

A closer is what the analysis proved (`analysis.closings`), put down for one pair of aliases; nothing is derived here.
"""

from __future__ import annotations

from enum import StrEnum

from penstock.analysis.facts.excess import Excess
from penstock.analysis.reasons import Told
from penstock.model.expressions import ColumnRef
from penstock.records import record


class CloserKind(StrEnum):
    """The ways in which promises rule out the future partners of a tuple."""

    BAND = "band"
    """An ordered column of the target, its event time above all, has passed the tuple's by the greatest difference."""
    ORDER = "order"
    """An ordered column of the target whose type has no lengths has passed the tuple's value."""
    FOLLOWS = "follows"
    """So many rows of the target arrived after the tuple."""
    KEY = "key"
    """The target has a key that the tuple names, and a row with that key arrived."""
    PUNCTUATION = "punctuation"
    """A punctuation of the target named the values that the tuple carries."""
    CLUSTER = "cluster"
    """The target is clustered by a column, and its rows with the value that the tuple carries have come and gone."""
    NEVER = "never"
    """No row of the target ever matches one of the source: their conditions contradict each other."""


@record
class Closer:
    """One way to rule out that a tuple of `source` meets any future tuple of `target`."""

    kind: CloserKind
    source: str
    target: str
    certain: bool
    """Whether it closes every value in the end, so that it is an edge of the static graph; a key closes what it saw."""
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    excess: Excess | None
    """For a band or an order, by how much the target's column may exceed the tuple's."""
    rows: int | None
    constraints: tuple[str, ...]
    """The declarations that it rests on; of a band, beside the order itself, those of its tightest allowance."""
    because: tuple[Told, ...]
    """All that makes it so: conditions and declarations, as the user wrote them."""
    is_marked: bool = False
    """Whether it is about values, and worth marking on the rows that carry them (`plan/purge_decisions.py`)."""

    def __hash__(self) -> int:
        # Closers are keys in every batch, and their excess may be long.
        return hash((self.kind, self.source, self.target, self.columns, self.target_columns, self.constraints))

    @property
    def is_exact(self) -> bool:
        """Whether it looks at the very value: its columns are the target's own, not ones that lie so far from them."""
        return self.excess is None or self.excess.equal


@record
class JointCloser:
    """A punctuation of `target` over columns that tuples of several streams carry between them.

    SAFETY's generalized edges, one record for all choices of partners: a partial result is closed by it if, for each
    target column, one of its members has a column of `partners`, and a punctuation named those values.
    """

    target: str
    certain: bool
    """Whether it closes every value in the end."""
    target_columns: tuple[str, ...]
    partners: tuple[tuple[ColumnRef, ...], ...]
    """For each target column, the columns of other streams that equal it in every result."""
    constraint: str

    def within(self, members: frozenset[str]) -> tuple[ColumnRef, ...] | None:
        """For each target column one that the members carry; None if they do not carry all."""
        found = [next((ref for ref in refs if ref.alias in members), None) for refs in self.partners]
        return None if None in found else tuple(ref for ref in found if ref is not None)


@record
class Agreement:
    """By how much `right` may exceed `left`, two columns of one clock: rows in one result keep it, written or not."""

    left: ColumnRef
    right: ColumnRef
    excess: Excess
