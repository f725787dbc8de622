"""What to keep of a stream whose rows can be merged (MEMORY, sections 7.1, 7.2 and 8.2), as data for the planner.

Rows go into buckets: one for each choice of parts of the bucket columns. A column with steps has a part for each value
from `low` to `high`, one for all below and one for all above; a column without has a part for each of its points and
one for each open stretch between. NULL is a part of its own. A row that fails a filter is dropped, and so is one with a
value outside `limits`, or that is none of `members`: the conditions together leave it no match.

Of each bucket is kept

- one row, the first that came, and how many came, where results are a bag (`counted`);
- one row, the first that came, where they are not;
- one extreme row, where comparisons with other streams remain: among the columns of `extremes` whose part of the bucket
  lies in their stretch, the row whose least such value is greatest (or whose greatest is least). All that apply in
  one bucket ask for the same end. If two rows tie, the one counts whose values compared strictly are further out;
- and each of `aggregates`, worked out over the bucket.

`rows` is the most buckets there can be; only those that occur take room.
"""

from __future__ import annotations

from penstock.analysis.reasons import Because, BoundedBy, Reason
from penstock.model.expressions import Value
from penstock.records import record

ABSURD = 10**6
"""A bound above this many rows is true and of no use."""


@record
class ValueLimits:
    """The values that a column takes in results; None is no limit."""

    low: Value | None = None
    high: Value | None = None
    low_is_in: bool = True
    high_is_in: bool = True


@record
class BucketColumn:
    """A column that keeps rows apart."""

    column: str
    values: int
    """How many of its values are told apart one by one; NULL counts if it may be."""
    stretches: int = 0
    """How many endless stretches are a part each."""
    low: Value | None = None
    high: Value | None = None
    """With steps: the ends of what is told apart; both None if there is no such value."""
    points: tuple[Value, ...] | None = None
    """Without steps: the values that are told apart."""
    limits: ValueLimits = ValueLimits()
    members: tuple[Value, ...] | None = None
    """The only values that it takes in results, where `=` and IN with constants say so, of it or of its equals."""

    @property
    def parts(self) -> int:
        """How many parts it has."""
        return self.values + self.stretches

    @property
    def told_apart(self) -> Reason:
        """Its name, and what it is cut into."""
        values = [Because.VALUES(self.values)] if self.values or not self.stretches else []
        ranges = [Because.RANGES(self.stretches)] if self.stretches else []
        return Because.PARTS_OF_COLUMN(self.column, [*values, *ranges])


@record
class Extreme:
    """A column of which only the greatest, or the least, value of a bucket matters."""

    column: str
    greatest: bool
    strict: bool
    """Whether some comparison needs it to be truly greater, or less."""
    above: Value | None = None
    below: Value | None = None
    """The open stretch where it applies; None is no limit."""

    @property
    def where(self) -> tuple[Reason, ...]:
        """The ends of the stretch; none if it is the whole line."""
        above = (Because.ABOVE(self.above),) if self.above is not None else ()
        return (*above, *((Because.BELOW(self.below),) if self.below is not None else ()))


@record
class SynopsisForm:
    """What to keep of one source."""

    alias: str
    columns: tuple[BucketColumn, ...]
    counted: bool
    extremes: tuple[Extreme, ...] = ()
    aggregates: tuple[str, ...] = ()
    covered_by: str | None = None
    """The other source of the same stream whose rows find every result that the rows of this one do."""

    @property
    def rows(self) -> int:
        """The most rows kept."""
        if self.covered_by is not None:
            return 0
        rows = 1
        for column in self.columns:
            rows *= column.parts
        return rows

    @property
    def bound(self) -> Reason:
        """What bounds the stream."""
        return BoundedBy.NOTHING_IS_STORED() if self.covered_by is not None else BoundedBy.DISTINCT_ROWS(self.rows)

    @property
    def _extreme_rows(self) -> tuple[Reason, ...]:
        ends: dict[tuple[bool, tuple[Reason, ...]], list[str]] = {}
        for extreme in self.extremes:
            ends.setdefault((extreme.greatest, extreme.where), []).append(extreme.column)
        found = []
        for (greatest, where), columns in ends.items():
            end, other = ("greatest", "least") if greatest else ("least", "greatest")
            if len(columns) == 1:
                row, lies = Because.ROW_WITH_END(end, columns[0]), Because.WHERE_IT_LIES
            else:
                row, lies = Because.ROW_WITH_END_OF(other, columns, end), Because.WHERE_THEY_LIE
            found.append(lies(row, where) if where else row)
        return tuple(found)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What it holds, and how much that is."""
        if self.covered_by is not None:
            return (Because.COVERED(self.covered_by, self.alias),)
        kept = [Because.EXTREME_ELSE_FIRST(self._extreme_rows) if self.extremes else Because.ONE_ROW()]
        kept += [Because.WITH_COUNT()] if self.counted else []
        if self.columns:
            found = [Because.KEPT_FOR_EACH([c.told_apart for c in self.columns], [*kept, *self.aggregates])]
            found.append(Because.AT_MOST_PRODUCT([column.parts for column in self.columns], self.rows))
        else:
            found = [Because.KEPT_ALONE(self.alias, [*kept, *self.aggregates])]
        if self.rows > ABSURD:
            found.append(Because.IMPRACTICAL_BUT_OCCURRING(self.rows))
        return tuple(found)
