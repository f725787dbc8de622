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

from dataclasses import dataclass

from penstock.model.expressions import Value

ABSURD = 10**6
"""A bound above this many rows is true and of no use."""


@dataclass(frozen=True)
class ValueLimits:
    """The values that a column takes in results; None is no limit."""

    low: Value | None = None
    high: Value | None = None
    low_is_in: bool = True
    high_is_in: bool = True


@dataclass(frozen=True)
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

    def __str__(self) -> str:
        values = f"{self.values} value{'' if self.values == 1 else 's'}"
        ranges = f"{self.stretches} range{'' if self.stretches == 1 else 's'}"
        if not self.stretches:
            return f"{self.column} ({values})"
        return f"{self.column} ({values} and {ranges})" if self.values else f"{self.column} ({ranges})"


@dataclass(frozen=True)
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
    def where(self) -> str:
        """The stretch in words; empty if it is the whole line."""
        limits = [f"above {self.above}"] if self.above is not None else []
        limits += [f"below {self.below}"] if self.below is not None else []
        return " and ".join(limits)


@dataclass(frozen=True)
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
    def formula(self) -> str:
        """The number of rows as a product."""
        if len(self.columns) < 2:
            return str(self.rows)
        return f"{' x '.join(str(column.parts) for column in self.columns)} = {self.rows}"

    @property
    def bound(self) -> str:
        """The bound in words."""
        if self.covered_by is not None:
            return "nothing is stored"
        return f"{self.rows} distinct rows" if self.rows != 1 else "1 row"

    @property
    def _extreme_rows(self) -> str:
        ends: dict[tuple[bool, str], list[str]] = {}
        for extreme in self.extremes:
            ends.setdefault((extreme.greatest, extreme.where), []).append(extreme.column)
        said = []
        for (greatest, where), columns in ends.items():
            end, other = ("greatest", "least") if greatest else ("least", "greatest")
            row = f"the row with the {end} {columns[0]}"
            if len(columns) > 1:
                row = f"the row whose {other} of {', '.join(columns)} is {end}"
            lies = "that lies" if len(columns) == 1 else "these lie"
            said.append(f"{row} where {lies} {where}" if where else row)
        return "; ".join(said)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it holds, and how much that is."""
        if self.covered_by is not None:
            return (f"a row of {self.covered_by} stands for its own partner, so {self.alias} adds no result",)
        kept = f"{self._extreme_rows}, else the first row" if self.extremes else "one row"
        kept += ", with a count" if self.counted else ""
        kept += "".join(f", {text}" for text in self.aggregates)
        if self.columns:
            said = [f"kept for each choice of {', '.join(map(str, self.columns))}: {kept}"]
            said.append(f"at most {self.formula} row{'s' if self.rows != 1 else ''}")
        else:
            said = [f"no column of {self.alias} keeps rows apart; kept: {kept}"]
        if self.rows > ABSURD:
            said.append(
                f"{self.rows} rows are so many that this is no practical bound; only values that occur take room"
            )
        return tuple(said)
