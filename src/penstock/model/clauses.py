"""The parts that a query is made of: sources with their windows, and what it gives.

Each part checks what it can know alone; what ties parts together is in `query_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from penstock.model.expressions import UNREAD, Call, ColumnRef, Expression, Term
from penstock.model.predicates import Predicate
from penstock.model.spans import Span
from penstock.model.stream import Stream
from penstock.records import record

if TYPE_CHECKING:
    from penstock.model.query import Query


@record
class RowsWindow:
    """`[ROWS n]`: the last n that arrived on the stream."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("a window of 0 rows holds nothing")

    def __str__(self) -> str:
        return f"[ROWS {self.count}]"


@record
class RangeWindow:
    """`[RANGE d]`: event times within d of the latest in the combination."""

    span: Span

    def __post_init__(self) -> None:
        if self.span.ticks <= 0:
            raise ValueError("a window of no length holds nothing")

    def __str__(self) -> str:
        return f"[RANGE {self.span}]"


@record
class Source:
    """A stream in a query, under its alias."""

    stream: Stream
    alias: str
    window: RowsWindow | RangeWindow | None = None
    where: tuple[Predicate, ...] = ()
    """A filter below the joins: rows that fail it are none of this source, but count, move clocks, make promises."""
    below: Query | Union | None = None
    """The block that gives its rows, or several; None for a declared stream. Their outputs are its columns."""

    @property
    def event_time(self) -> ColumnRef | None:
        """The column that is its clock."""
        return ColumnRef(self.alias, self.stream.event_time) if self.stream.event_time is not None else None


@record
class Union:
    """UNION ALL: the answers of several blocks as one stream; each is a source, and all have the same columns."""

    members: tuple[Source, ...]
    of_cases: bool = field(default=False, compare=False)
    """Whether they are the cases of one query that asks by EXISTS or IN, of which no user knows."""


WINDOW, SESSION = "window", "session_window"
TIME = "time"
"""The last moment within a window, which Spark calls its `window_time`: by it the window lies in longer ones."""


@record
class TimeWindow:
    """`window(ts, '5 minutes')`, or one end of it; `window(ts, '5 minutes', '1 minute')` starts one each minute.

    `session_window(ts, '5 minutes')` goes on as long as times follow each other within its length: it begins with its
    first, and ends so long after its last.
    """

    column: ColumnRef
    span: Span
    """How long it is; of a session, after how long a pause it ends."""
    end: str | None = None
    """`start`, `end`, `time`, or None for the whole window."""
    slide: Span | None = None
    """How far the windows lie apart; None where each begins as the one before it ends."""
    offset: Span | None = None
    """By how much they begin after multiples of that; None for not at all."""
    is_session: bool = False

    @property
    def whole(self) -> TimeWindow:
        """The window that it is an end of."""
        return replace(self, end=None)

    @property
    def step(self) -> int:
        """How far the windows lie apart, in ticks."""
        return (self.slide or self.span).ticks

    @property
    def shift(self) -> int:
        """By how much they begin after multiples of that, in ticks."""
        return 0 if self.offset is None else self.offset.ticks % self.step

    @property
    def many(self) -> int:
        """In how many windows a row is, at most."""
        return -(-self.span.ticks // self.step)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.column,)

    def __str__(self) -> str:
        spans = [self.span, *([] if self.slide is None and self.offset is None else [self.slide or self.span])]
        spans += [] if self.offset is None else [self.offset]
        function = SESSION if self.is_session else WINDOW
        text = f"{function}({', '.join([str(self.column), *map(_length, spans)])})"
        if self.end == TIME:
            return f"({text}.end - INTERVAL 1 MICROSECOND)"
        return f"{text}.{self.end}" if self.end else text


def _length(span: Span) -> str:
    return f"'{str(span).lower()}'" if span.unit is not None else str(span)


VARIANCES = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
PICKS = ("max_by", "min_by")
"""The value of the row that has the greatest, or the least, of another."""
COLLECTS = ("collect_list", "collect_set")
QUANTILES = ("median", "percentile")
GROUPINGS = ("grouping", "grouping_id")
"""Which keys a group leaves out, of those of which there are several sets: 1 for a key; a bit of each of all."""
AGGREGATES = ("count", "sum", "min", "max", "avg", *QUANTILES, *VARIANCES, *PICKS, *COLLECTS)
_OF_DISTINCT = ("count", "sum", "avg")


TOP, ROW_NUMBER = "top", "row_number"
"""What the rows are made of that a partition gives, first ones first: a value of a row, and its place among them."""


@record
class Ordering:
    """By what the rows of a partition are ordered."""

    value: ColumnRef | Expression
    descending: bool
    nulls_first: bool

    def __str__(self) -> str:
        return f"{self.value} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


@record
class Top:
    """`ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= n`: of each group the first rows instead of one."""

    most: int
    ordering: tuple[Ordering, ...]


@record
class Aggregate:
    """An aggregate over a group; `argument` is None for count(*)."""

    function: str
    argument: ColumnRef | Expression | None = None
    distinct: bool = False
    more: tuple[ColumnRef | Expression, ...] = ()
    """Further arguments: what a value is picked by; with what it is counted."""
    share: Decimal | None = None
    """Of a percentile: how much of the values lies below it."""

    def __post_init__(self) -> None:
        if self.function in (TOP, ROW_NUMBER, *GROUPINGS):
            return
        if self.function not in AGGREGATES:
            raise ValueError(f"{self.function} is no aggregate; these are: {', '.join(AGGREGATES)}")
        if self.argument is None and (self.function != "count" or self.distinct):
            raise ValueError(f"{self.function} needs an argument")
        if self.distinct and self.function not in _OF_DISTINCT:
            raise ValueError(f"DISTINCT is for {', '.join(_OF_DISTINCT)}, not for {self.function}")
        counts_several = self.function == "count" and self.distinct
        if len(self.more) != (self.function in PICKS) and not counts_several:
            raise ValueError(f"{self.function} takes {'two arguments' if self.function in PICKS else 'one argument'}")
        if (self.share is None) == (self.function == "percentile") or not 0 <= (self.share or 0) <= 1:
            raise ValueError("a percentile is that of a share from 0 to 1, and no other aggregate has one")

    @property
    def keeps_values(self) -> bool:
        """Whether it needs the values of a group one by one."""
        return self.distinct or self.function in (*QUANTILES, *COLLECTS, TOP, ROW_NUMBER)

    @property
    def tells_apart(self) -> bool:
        """Whether results that differ in a value of it are told apart until their group is known."""
        return self.keeps_values or self.function in (*VARIANCES, *PICKS)

    @property
    def arguments(self) -> tuple[ColumnRef | Expression, ...]:
        """What it is worked out from."""
        return () if self.argument is None else (self.argument, *self.more)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(ref for argument in self.arguments for ref in columns_of(argument)))

    def __str__(self) -> str:
        shown = [*map(str, self.arguments), *([] if self.share is None else [str(self.share)])]
        nothing = "" if self.function in GROUPINGS else "*"
        inner = nothing if self.argument is None else ", ".join(shown)
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner})"


Scalar = ColumnRef | Expression | TimeWindow
"""A value of one combination of tuples."""


def columns_of(value: Scalar | Aggregate) -> tuple[ColumnRef, ...]:
    """The columns that a value reads."""
    return (value,) if isinstance(value, ColumnRef) else value.columns


@record
class Output:
    """One column of the answer, or of the groups that it is made of."""

    name: str
    value: Scalar | Aggregate
    is_renamed: bool = field(default=False, compare=False)
    """Whether the name that Spark would give it stood there already."""


Piece = str | Aggregate | Scalar
"""A part of a formula: text, or a column of the groups."""


@record
class Formula:
    """A column of the answer, or a condition on it, that is an expression over aggregates: Spark's, on each group."""

    name: str
    pieces: tuple[Piece, ...]
    """The expression as it was written, what are columns of the groups set apart."""
    columns: tuple[ColumnRef, ...] = ()
    """The columns that stand outside of these."""
    terms: tuple[tuple[Aggregate, Fraction], ...] | None = field(default=None, compare=False)
    """Its aggregates with their factors, if it is linear in them."""
    term: Term = field(default=Call(UNREAD, ()), compare=False, repr=False)
    """In which a piece that is no text is a column of no alias, by its text."""
    is_renamed: bool = field(default=False, compare=False)

    @property
    def values(self) -> tuple[Aggregate | Scalar, ...]:
        """The columns of the groups that it holds, each once."""
        return tuple(dict.fromkeys(piece for piece in self.pieces if not isinstance(piece, str)))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that it holds, each once."""
        return tuple(value for value in self.values if isinstance(value, Aggregate))

    def text(self, names: Mapping[Aggregate | Scalar, str]) -> str:
        """The expression with something in place of each column of the groups."""
        return "".join(piece if isinstance(piece, str) else names[piece] for piece in self.pieces)

    def __str__(self) -> str:
        return self.text({value: str(value) for value in self.values})
