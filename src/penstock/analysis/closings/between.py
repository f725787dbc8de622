"""Which declarations close one source for a row of another, on which columns, and when: every way, as values.

A closing from `source` to `target` is one way to know that no future row of target meets a row of source (DESIGN
section 1). It is derived here and nowhere else: the graph asks whether such ways suffice (graph.py), the plan carries
them, the runtime evaluates them. There is one when

- the target is ORDERED BY a column that lies only so far above one of the source, by a band, a window, an equality or a
  comparison: once it has passed that far. It closes what it passes, and so everything only if the column has no
  largest value (largest_value.py): then it is certain;
- the source declares FOLLOWS towards it in rows, and the equalities tie all its columns;
- the target has a PRIMARY KEY, or is CLUSTERED BY a column, that the source names. These close only what came: certain
  where a guarantee says that the value arrives, and for a cluster the column has values without end.

Preconditions: equalities and bands are those that hold where the two sources stand together. Punctuations, whose values
several rows may carry between them, are edges.py's; whether the closings suffice is graph.py's question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from penstock.analysis.closings.excess import Excess
from penstock.analysis.closings.guarantee import Guarantee, guarantee
from penstock.analysis.facts.bands import tied
from penstock.analysis.facts.combination import Combination, Combinations
from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.reasons import Reason, WaitsUntil
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Clustered, Follows, Ordered, PrimaryKey, Scheme, reference_of
from penstock.model.spans import Auto, Rows, span_of_ticks


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


@dataclass(frozen=True)
class Passage:
    """The target is closed once its column `ordered` has passed `start`, a column of the source, by the excess."""

    ordered: ColumnRef
    start: ColumnRef
    excess: Excess
    instants: bool
    """Whether lengths between the two are durations."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """What limits it, each once."""
        return tuple(dict.fromkeys(self.excess.tightest.reasons))

    @property
    def wait(self) -> Reason:
        """What must happen."""
        return passed_by(self.ordered, self.start, self.excess.tightest.ticks, self.instants)


def passed_by(ordered: ColumnRef, start: ColumnRef, ticks: int, instants: bool) -> Reason:
    """That a column has passed another by so much."""
    if not ticks:
        return WaitsUntil.PASSED(ordered, start)
    return WaitsUntil.PASSED_BY(ordered, start, "+" if ticks > 0 else "-", span_of_ticks(abs(ticks), instants))


@dataclass(frozen=True)
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


def closings_between(
    combinations: Combinations, own: Source, target: Source, starts: Iterable[str]
) -> Iterator[PairClosing]:
    """Every way in which a source is closed for the rows of another; of these, `starts` are the columns to look at."""
    here = combinations.of(own.alias, target.alias)
    names = tuple(starts)
    for order in orders(target):
        yield from passed(own, target, order, here, names)
    yield from followed(combinations, own, target)
    yield from named(own, target, here)


def orders(source: Source) -> tuple[Ordered, ...]:
    """The orders of a stream; ARRIVES BY the event time is one."""
    declared = [s for s in source.stream.schemes if isinstance(s, Ordered)]
    return (*declared, *(s for s in source.stream.low if s not in declared))


def passages(
    own: Source, ordered: ColumnRef, target: Source, here: Combination, starts: Iterable[str]
) -> Iterator[Passage]:
    """Of some columns of a source, those that a column of the target never lies too far above."""
    kind = target.stream.type_of(ordered.column)
    for name in starts if kind is not None else ():
        start = ColumnRef(own.alias, name)
        excess = here.bands.excess(ordered, start)
        # Only clocks have lengths; other columns are closed by the value itself.
        if excess is not None and kind is not None and (kind.is_clock or excess.tightest.ticks == 0):
            yield Passage(ordered, start, excess, kind.is_instant)


def passed(
    own: Source, target: Source, order: Ordered, here: Combination, starts: Iterable[str]
) -> Iterator[PairClosing]:
    """The closings by one ordered column of the target."""
    ordered = ColumnRef(target.alias, order.column)
    way = Way.CLOCK if ordered == target.event_time else Way.ORDER
    certain = never_passes(target.stream, order.column) is None
    for passage in passages(own, ordered, target, here, starts):
        columns = (passage.start.column,)
        yield PairClosing(way, own.alias, target.alias, columns, (order.column,), order, certain, passage)


def followed(combinations: Combinations, own: Source, target: Source) -> Iterator[PairClosing]:
    """The closings by a FOLLOWS of the source that counts rows."""
    here = combinations.of(own.alias, target.alias)
    for scheme in own.stream.schemes:
        reference = reference_of(scheme)
        if not isinstance(scheme, Follows) or reference is None or not isinstance(scheme.slack, Rows | Auto):
            continue
        if tied(combinations.query, here.equalities, own.alias, target.alias, reference):
            columns, theirs = (tuple(names) for names in zip(*reference.pairs, strict=True))
            yield PairClosing(Way.FOLLOWS, own.alias, target.alias, columns, theirs, scheme, True)


def named(own: Source, target: Source, here: Combination) -> Iterator[PairClosing]:
    """The closings by keys and clusters of the target that a row of the source names."""
    for scheme in target.stream.schemes:
        if not isinstance(scheme, PrimaryKey | Clustered):
            continue
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
