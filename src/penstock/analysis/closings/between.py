"""Which declarations close one source for a row of another, on which columns, and when: every way, as values.

A closing from `source` to `target` is one way to know that no future row of target meets a row of source (DESIGN
section 1). It is derived here and nowhere else: closing_graph.py asks whether such ways suffice, the plan carries them,
the runtime evaluates them. There is one when

- the target is ORDERED BY a column that lies only so far above one of the source, by a band, a window, an equality or a
  comparison: once it has passed that far. It closes what it passes, and so everything only if the column has no
  largest value (largest_value.py): then it is certain;
- the source declares FOLLOWS towards it in rows, and the equalities tie all its columns;
- the target has a PRIMARY KEY, or is CLUSTERED BY a column, that the source names. These close only what came: certain
  where a guarantee says that the value arrives, and for a cluster the column has values without end.

A **guarantee** that the value which a row names arrives is a FOREIGN KEY of its stream, where a NULL in none of its
columns lets it demand nothing; or, in a self-join on these columns, that the row itself did arrive. What a FOREIGN KEY
demands may have come before or come later: either way the key is named in the end.

Preconditions: equalities and bands are those that hold where the two sources stand together. Punctuations, whose values
several rows may carry between them, are edges.py's; whether the closings suffice is closing_graph.py's question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import IntEnum

from penstock.analysis.facts.bands import Bands, tied
from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.facts.excess import Excess
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.facts.together import Facts, Together
from penstock.analysis.reasons import Because, Reason, Told, WaitsUntil
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Clustered, Follows, ForeignKey, Ordered, PrimaryKey, Scheme, reference_of
from penstock.model.spans import Auto, Rows, span_of_ticks
from penstock.records import record


class Way(IntEnum):
    """How a closing works; the order is the order of preference."""

    NEVER = 0
    CLOCK = 1
    KEY = 2
    FOLLOWS = 3
    PUNCTUATION = 4
    CLUSTER = 5
    ORDER = 6
    WINDOW = 7


@record
class Passage:
    """The target is closed once its column `ordered` has passed `start`, a column of the source, by some ticks.

    There is one for each pair of a chain of streams: what makes it so is worked out for whoever asks.
    """

    ordered: ColumnRef
    start: ColumnRef
    ticks: int
    instants: bool
    """Whether lengths between the two are durations."""
    bands: Bands = field(compare=False, repr=False)
    """What says so."""

    @property
    def excess(self) -> Excess:
        """By how much it may lie above, whatever is widened."""
        found = self.bands.excess(self.ordered, self.start)
        assert found is not None
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """What limits it, each once."""
        return self.bands.reasons(self.ordered, self.start)

    @property
    def wait(self) -> Reason:
        """What must happen."""
        return passed_by(self.ordered, self.start, self.ticks, self.instants)


def passed_by(ordered: ColumnRef, start: ColumnRef, ticks: int, instants: bool) -> Reason:
    """That a column has passed another by so much."""
    if not ticks:
        return WaitsUntil.PASSED(ordered, start)
    return WaitsUntil.PASSED_BY(ordered, start, "+" if ticks > 0 else "-", span_of_ticks(abs(ticks), instants).spoken)


@record
class Guarantee:
    """What makes sure that the values which a source carries in `own` arrive in those columns of the target.

    Of several columns that the query makes equal only these will do: a row in which they differ is in no result, and
    what it carries in the others may never arrive.
    """

    own: tuple[str, ...]
    because: Told


@record
class PairClosing:
    """One way in which the target is closed for a row of the source."""

    way: Way
    source: str
    target: str
    columns: tuple[str, ...]
    """What is looked at of the row."""
    target_columns: tuple[str, ...]
    """What the promises of the target are about."""
    scheme: Scheme
    """The declaration that closes."""
    certain: bool
    """Whether it closes every value in the end."""
    passage: Passage | None = None
    """The ordered column that must pass, if that is what closes."""
    sure: Guarantee | None = None
    """What makes sure that the value arrives, of a key or a cluster."""

    @property
    def rows(self) -> int | None:
        """How many rows must follow, where rows are counted and the number is declared."""
        slack = self.scheme.slack if isinstance(self.scheme, Follows | Clustered) else None
        return slack.count if isinstance(slack, Rows) else None


def closings_between(facts: Facts, own: Source, target: Source, starts: Iterable[str]) -> Iterator[PairClosing]:
    """Every way in which a source is closed for the rows of another; of these, `starts` are the columns to look at."""
    here = facts.of(own.alias, target.alias)
    names = tuple(starts)
    for order in orders(target):
        yield from passed(own, target, order, here, names)
    yield from followed(facts, own, target)
    yield from named(own, target, here)


def orders(source: Source) -> tuple[Ordered, ...]:
    """The orders of a stream; ARRIVES BY the event time is one."""
    declared = [s for s in source.stream.schemes if isinstance(s, Ordered)]
    return (*declared, *(s for s in source.stream.low if s not in declared))


def passages(
    own: Source, ordered: ColumnRef, target: Source, here: Together, starts: Iterable[str]
) -> Iterator[Passage]:
    """Of some columns of a source, those that a column of the target never lies too far above."""
    kind = target.stream.type_of(ordered.column)
    for name in starts if kind is not None else ():
        start = ColumnRef(own.alias, name)
        limit = here.bands.closes(ordered, start)
        # Only clocks have lengths; other columns are closed by the value itself.
        if limit is not None and kind is not None and (kind.is_clock or limit.ticks == 0):
            yield Passage(ordered, start, limit.ticks, kind.is_instant, here.bands)


def passed(own: Source, target: Source, order: Ordered, here: Together, starts: Iterable[str]) -> Iterator[PairClosing]:
    """The closings by one ordered column of the target."""
    ordered = ColumnRef(target.alias, order.column)
    way = Way.CLOCK if ordered == target.event_time else Way.ORDER
    certain = never_passes(target.stream, order.column) is None
    for passage in passages(own, ordered, target, here, starts):
        columns = (passage.start.column,)
        yield PairClosing(way, own.alias, target.alias, columns, (order.column,), order, certain, passage)


def followed(facts: Facts, own: Source, target: Source) -> Iterator[PairClosing]:
    """The closings by a FOLLOWS of the source that counts rows."""
    here = facts.of(own.alias, target.alias)
    for scheme in own.stream.schemes:
        reference = reference_of(scheme)
        if not isinstance(scheme, Follows) or reference is None or not isinstance(scheme.slack, Rows | Auto):
            continue
        if tied(facts.query, here.equalities, own.alias, target.alias, reference):
            columns, theirs = (tuple(names) for names in zip(*reference.pairs, strict=True))
            yield PairClosing(Way.FOLLOWS, own.alias, target.alias, columns, theirs, scheme, True)


def named(own: Source, target: Source, here: Together) -> Iterator[PairClosing]:
    """The closings by keys and clusters of the target that a row of the source names."""
    for scheme in target.stream.schemes:
        if not isinstance(scheme, PrimaryKey | Clustered):
            continue
        if isinstance(scheme, Clustered) and not target.stream.lies_in_one_part(scheme.column):
            continue  # Rows of one value may come of several parts, whose order to each other nobody promises.
        columns = scheme.columns if isinstance(scheme, PrimaryKey) else (scheme.column,)
        equal = [here.equalities.class_of(ColumnRef(target.alias, c)) for c in columns]
        names = [next((r.column for r in refs if r.alias == own.alias), None) for refs in equal]
        if None in names:
            continue
        sure = guarantee(own, target, here, columns)
        carried = tuple(name for name in names if name is not None) if sure is None else sure.own
        way, certain = Way.KEY, sure is not None
        if isinstance(scheme, Clustered):
            way = Way.CLUSTER
            certain = certain and declared_domain(target.stream, scheme.column).size is None
        yield PairClosing(way, own.alias, target.alias, carried, columns, scheme, certain, sure=sure)


def guarantee(own: Source, target: Source, here: Together, columns: tuple[str, ...]) -> Guarantee | None:
    """What makes sure that the value a source names in these columns of the target arrives; None if nothing does."""
    if own.stream == target.stream and all(
        here.equalities.equal(ColumnRef(own.alias, c), ColumnRef(target.alias, c)) for c in columns
    ):
        return Guarantee(columns, Because.ITSELF_A_ROW(own.alias, target.stream.name))
    for scheme in own.stream.schemes:
        if not isinstance(scheme, ForeignKey) or scheme.parent != target.stream.name:
            continue
        named = dict(zip(scheme.parent_columns, scheme.columns, strict=True))
        # A NULL in any of its columns demands nothing.
        demands = all(not _may_lack_value(own, column, here) for column in scheme.columns)
        if demands and all(
            c in named and here.equalities.equal(ColumnRef(own.alias, named[c]), ColumnRef(target.alias, c))
            for c in columns
        ):
            return Guarantee(tuple(named[c] for c in columns), scheme.on(own.stream.name))
    return None


def _may_lack_value(own: Source, column: str, here: Together) -> bool:
    found = own.stream.column(column)
    return found is None or found.is_virtual or here.domain(ColumnRef(own.alias, found.name)).nullable
