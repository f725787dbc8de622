"""Findings: what an analysis knows, as values.

The planner, the command line, the page and the tests all read the same finding; nothing is logged, nothing printed.
What bounds a piece of state, and why, are values (reasons.py) that explain/ has the words for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.analysis.reasons import Reason, Told
from penstock.analysis.rewriting.count_queries import Rewriting
from penstock.analysis.synopsis_form import SynopsisForm
from penstock.model.block_tree import over
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.schemes import NamedTime, Scheme
from penstock.model.shown_names import ShownNames
from penstock.model.spans import Span
from penstock.records import record

if TYPE_CHECKING:
    from penstock.analysis.blocks.derived_stream import Derived
    from penstock.analysis.closings.closing_graph import ClosingGraph


class Means(StrEnum):
    """What keeps the state of a stream bounded."""

    STATELESS = "stateless"
    """Nothing is stored: a row is useless as soon as it was read."""
    WINDOW = "window"
    """`[ROWS n]`: at most n rows are in reach."""
    PURGE = "purge"
    """Promises close what a row waits for, and then it leaves."""
    SYNOPSIS = "synopsis"
    """Rows that the query cannot tell apart are merged into one with a count."""
    REWRITE = "rewrite"
    """Rows are counted as they come, and none is stored."""
    BUDGET = "budget"
    """A hard limit: over it, rows are evicted and results lost."""


@record
class Fix:
    """Declarations that would bound the state, each with the stream that it is declared of."""

    declarations: tuple[tuple[str, Scheme | NamedTime], ...]

    def __str__(self) -> str:
        """As `penstock implies` reads it."""
        return "; ".join(scheme.on(stream) for stream, scheme in self.declarations)

    @property
    def by_stream(self) -> dict[str, list[Scheme | NamedTime]]:
        """What each stream is to declare."""
        found: dict[str, list[Scheme | NamedTime]] = {}
        for stream, scheme in self.declarations:
            found.setdefault(stream, []).append(scheme)
        return found


class Meeting(StrEnum):
    """Where two streams meet, and so where a condition on both is written."""

    WHERE = "WHERE"
    """In an inner join, where it does not matter."""
    ON = "ON"
    """In the ON of an outer join, or of a join below one."""
    EXISTS = "EXISTS"
    """In the WHERE of an EXISTS."""


@record
class TimeCondition:
    """Two event times that would have to lie near each other."""

    block: str
    """The name of the block in which they meet; empty for the query itself."""
    theirs: ColumnRef
    ours: ColumnRef
    meeting: Meeting
    is_after: bool = False
    """Whether the query says already that theirs is not much earlier than ours."""
    is_before: bool = False
    """Whether it says already that theirs is not much later."""


@record
class WindowOfGroups:
    """An event time of which the groups of a block would have to have windows."""

    block: str
    time: ColumnRef


@record
class NearInTime:
    """What of time the query would have to ask, with `apart` for every length, and what to declare with that.

    A length without a unit is of event times that are whole numbers.
    """

    conditions: tuple[TimeCondition, ...]
    windows: tuple[WindowOfGroups, ...]
    apart: Span
    declared: Fix

    @property
    def has_length(self) -> bool:
        """Whether it asks for a length, which only the user knows."""
        return bool(self.conditions or self.windows)


@record
class Bounded:
    """State is bounded: by what, by which means, for which reasons."""

    bound: Told
    means: Means
    because: tuple[Told, ...] = ()
    rows: int | None = None
    """The most distinct tuples stored after any batch, where a constant follows from the declarations alone."""

    verdict = "bounded"


@record
class Unbounded:
    """State grows without limit on some input that keeps its promises."""

    because: tuple[Told, ...]
    fixes: tuple[Fix, ...] = ()

    verdict = "unbounded"


@record
class Undecided:
    """Neither a bound nor a growing input was found: why, and what to declare."""

    because: tuple[Told, ...]
    fixes: tuple[Fix, ...] = ()

    verdict = "undecided"


Finding = Bounded | Unbounded | Undecided


@record
class StateFinding:
    """The finding for one piece of state: a stream under its alias, `(distinct)` or `(groups)`."""

    stream: str
    alias: str
    finding: Finding


@record
class MemoryFinding:
    """MEMORY: does constant memory suffice, from predicates, types and CHECK alone? None is "not decided"."""

    bounded: bool | None
    violates: tuple[Told, ...] = ()
    """The conditions that fail, each as `C2: …`; where `bounded` is None, `because` says why that is not enough."""
    because: tuple[Told, ...] = ()
    """What makes it so, or why it is not decided."""
    synopses: tuple[SynopsisForm, ...] = ()
    """What to keep of each source whose rows can be merged, whether or not all can be; without windows."""
    never: bool = False
    """Whether no tuples can satisfy the conditions, so that there is never a result."""
    results: int | None = None
    """How many rows DISTINCT, or groups and values GROUP BY, can have to remember; None if there is no limit."""
    witness: Witness | None = field(default=None, compare=False, repr=False)
    """Rows that any algorithm must remember, where `bounded` is false; promises are not looked at."""
    grows: Callable[[frozenset[str]], frozenset[str]] | None = field(default=None, compare=False, repr=False)
    """Those of some sources, by alias, of which such rows show that theirs must be remembered."""


@record
class PurgeFinding:
    """SAFETY over promise schemes, bands and windows: can each stream's state be purged? None is "not decided"."""

    safe: bool | None
    streams: tuple[tuple[str, bool | None], ...]
    """By alias, in the order of FROM."""
    because: tuple[tuple[str, Told], ...] = ()
    """By alias, why it is not decided."""


@record
class RewriteFinding:
    """REWRITE: is the join replaced by counts, and at which error? None is "not decided"."""

    applies: bool | None
    error_bound: float | None = None
    sql: str | None = None
    """The counts as a query; with `applies` false, an offer."""
    rewriting: Rewriting | None = None
    because: tuple[Told, ...] = ()
    """Why it can be done, or why not."""
    offered: Told | None = None
    """Why it is not done though it could be."""


Row = tuple[str, tuple[tuple[str, object], ...]]
"""A stream's name, and the columns of a row that are not NULL."""


@record
class Witness:
    """An input that makes the state grow: rows in order of arrival, each with its stream's name."""

    growth: Told
    rows: tuple[Row, ...]
    """The first of them."""
    longer: Callable[[int], tuple[Row, ...]] | None = field(default=None, compare=False, repr=False)
    """The same input, of any length."""

    def first(self, count: int) -> tuple[Row, ...]:
        """So many rows of it."""
        return self.rows[:count] if self.longer is None or count <= len(self.rows) else self.longer(count)


class Strategy(StrEnum):
    """How a query is run."""

    REWRITE = "rewrite"
    SYNOPSIS = "synopsis"
    PURGE = "purge"
    BUDGET = "budget"
    NONE = "none"


@record
class Verdict:
    """All that `check` knows of one query."""

    query: str
    verdict: str
    """`bounded`, `unbounded` or `undecided`."""
    strategy: Strategy
    exact: bool
    streams: tuple[StateFinding, ...]
    memory: MemoryFinding
    purge: PurgeFinding
    rewrite: RewriteFinding
    witness: Witness | None = None
    notices: tuple[Told, ...] = ()
    """What the user should know though it changes no verdict."""
    finality: tuple[Told, ...] = ()
    """When rows that may have no match are given, for each outer join and EXISTS."""
    learned: tuple[str, ...] = ()
    """The declarations WITHIN AUTO that let rows go: the answer is exact if what is learned of them holds."""
    graph: ClosingGraph | None = field(default=None, compare=False, repr=False)
    """What closes what, as it was derived for the query: for the planner, which derives nothing."""
    blocks: tuple[BlockFinding, ...] = ()
    """The blocks below, each after those that it reads; `streams` and the analyses are then about the block on top."""
    unions: tuple[UnionFinding, ...] = ()
    """The streams that are the answers of several blocks."""
    shown: ShownNames | None = field(default=None, compare=False, repr=False)
    """What the pieces of its blocks are called, where it has some."""
    near: NearInTime | None = field(default=None, compare=False, repr=False)
    """What of time would bound it, if the question allows for that (`analysis/near_in_time.py`)."""
    by_hand: NearInTime | None = field(default=None, compare=False, repr=False)
    """The same, where the text of the script has no one place for it."""
    together: tuple[Fix, ...] | None = field(default=None, compare=False, repr=False)
    """Where its states have fixes of their own: those that bound them all (`analysis/fixes_together.py`)."""
    job_fixes: tuple[tuple[str, ...], ...] | None = None
    """Of a PySpark job, what to write in it: each a sufficient change, line by line; None for a script's query."""


@record
class Claim:
    """A promise of a block's answer, or a condition that all its rows keep; it follows from what is below.

    It is not watched for its own sake: what breaks it has broken a declaration below, and is counted there.
    """

    promise: Scheme | Predicate
    because: tuple[Told, ...]


@record
class Unclaimed:
    """A column of a block's answer that carries an event time and has no clock: why."""

    column: str
    because: tuple[Reason, ...]


@record
class BlockFinding:
    """What is known of a block whose answer another block reads."""

    name: str
    """Of the stream that its answer is."""
    query: Query
    """The block, over streams with their promises."""
    verdict: Verdict
    derived: Derived


@record
class UnionFinding:
    """What is known of a stream that is the answers of several blocks."""

    name: str
    members: tuple[str, ...]
    derived: Derived


def each_block(query: Query, verdict: Verdict) -> tuple[tuple[Query, Verdict], ...]:
    """The blocks of a checked query over streams with their promises, from below; the last gives the answer."""
    streams = {block.name: block.derived.stream for block in verdict.blocks}
    streams |= {union.name: union.derived.stream for union in verdict.unions}
    return (*((block.query, block.verdict) for block in verdict.blocks), (over(query, streams), verdict))
