"""The declarations as rules over rows: what REWRITE's Definition 5 calls stream integrity constraints.

Each of PRIMARY KEY, STREAM KEY, COOCCURS, FOLLOWS WITHIN a span and FOREIGN KEY is one rule. It speaks of a row s of
one stream and a row t of another, or the same, that agree on some columns and whose event times lie `when` apart:

    PRIMARY KEY     s and t are one row
    STREAM KEY      they agree on all columns that both streams have, but time
    COOCCURS, FOLLOWS    t.ts - s.ts lies in a window
    FOREIGN KEY     for every s there is such a t

A stream is a bag: two rows that are alike in everything are still two rows, and break a PRIMARY KEY. A row also
agrees with itself. The window of a STREAM KEY is a premise (ERRATA, on Figure 3). An event time among the columns of a
constraint means that the two times are equal; it is no column otherwise.

Not rules, since they speak of the order of arrival or of constants: ORDERED, CLUSTERED, FOLLOWS WITHIN rows,
PUNCTUATED, CHECK; nor is a constraint that pairs an event time with a column that is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model.schemes import Cooccurs, Follows, ForeignKey, PrimaryKey, Scheme, StreamKey, reference_of
from penstock.model.spans import Span, Unit, Window
from penstock.model.stream import Stream, columns_in_common
from penstock.model.types import Kind
from penstock.records import record


@record
class Reach:
    """`low <= t.ts - s.ts <= high`, in ticks; None is unbounded."""

    low: int | None = None
    high: int | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it says nothing of the times."""
        return self.low is None and self.high is None

    def reversed(self) -> Reach:
        """The same of s seen from t."""
        return Reach(None if self.high is None else -self.high, None if self.low is None else -self.low)

    @property
    def is_empty(self) -> bool:
        """Whether no two times lie so."""
        return self.low is not None and self.high is not None and self.low > self.high

    def on(self, step: int) -> Reach:
        """What it comes to on a clock of that step: of `[1 HOUR, 36 HOURS]`, a calendar knows one day."""
        if step <= 1:
            return self
        return Reach(
            None if self.low is None else -(-self.low // step) * step,
            None if self.high is None else self.high // step * step,
        )

    def at_once(self) -> Reach:
        """The part of it where both times are equal."""
        low = 0 if self.low is None else max(0, self.low)
        return Reach(low, 0 if self.high is None else min(0, self.high))


@record
class StreamShape:
    """A stream as the rules see it: its columns but the event time, and how its clock steps."""

    name: str
    columns: tuple[str, ...]
    event_time: str | None
    step: int
    """Ticks between two neighbouring event times; 0 where time is dense."""

    def place(self, column: str) -> int | None:
        """The place of a column; None for the event time."""
        return next((i for i, c in enumerate(self.columns) if c == column), None)


@record
class Premise:
    """Rows of two streams (by their places) that agree on pairs of columns, `when` apart."""

    left: int
    right: int
    pairs: tuple[tuple[int, int], ...]
    when: Reach


@record
class OneRow:
    """Both are one row: a PRIMARY KEY."""

    premise: Premise
    text: str


@record
class SameValues:
    """Both agree on further pairs of columns: a STREAM KEY."""

    premise: Premise
    values: tuple[tuple[int, int], ...]
    text: str


@record
class Apart:
    """Their event times lie in a window: COOCCURS, or FOLLOWS WITHIN a span."""

    premise: Premise
    then: Reach
    text: str


@record
class Partner:
    """Every row on the left has one on the right: a FOREIGN KEY. Full if it leaves no column of the partner open."""

    premise: Premise
    is_full: bool
    text: str


Rule = OneRow | SameValues | Apart | Partner


def ends_of(rule: Rule) -> tuple[int | None, ...]:
    """Where its windows begin and end; None where they are open."""
    ends: tuple[int | None, ...] = (rule.premise.when.low, rule.premise.when.high)
    return (*ends, rule.then.low, rule.then.high) if isinstance(rule, Apart) else ends


def shape_of(stream: Stream) -> StreamShape:
    """The shape of a stream."""
    clock = stream.clock
    step = 0
    if clock is not None and not (clock.is_instant and clock.kind is not Kind.DATE):
        step = Unit.DAY.value if clock.kind is Kind.DATE else 1
    columns = tuple(c.name for c in stream.columns if c.name != stream.event_time)
    return StreamShape(stream.name, columns, stream.event_time, step)


def rule_of(streams: Sequence[Stream], shapes: Sequence[StreamShape], own: int, scheme: Scheme) -> Rule | None:
    """The rule that a constraint of a stream is; None for one that is no rule."""
    reference = reference_of(scheme)
    if reference is None:
        return rule_between(streams, shapes, own, own, scheme)
    other = next(i for i, shape in enumerate(shapes) if shape.name == reference.stream)
    return rule_between(streams, shapes, own, other, scheme)


def rule_between(
    streams: Sequence[Stream], shapes: Sequence[StreamShape], own: int, other: int, scheme: Scheme
) -> Rule | None:
    """The rule that a constraint of the stream at one place is about the stream at another; None if it is no rule."""
    text = scheme.on(streams[own].name)
    if isinstance(scheme, PrimaryKey):
        premise = premise_of(shapes, own, own, tuple((c, c) for c in scheme.columns), Reach())
        return None if premise is None else OneRow(premise, text)
    reference = reference_of(scheme)
    if reference is None:
        return None
    match scheme:
        case StreamKey():
            premise = premise_of(shapes, own, other, reference.pairs, _reach(scheme.window))
            return None if premise is None else SameValues(premise, _in_common(streams, shapes, own, other), text)
        case Cooccurs():
            premise = premise_of(shapes, own, other, reference.pairs, Reach())
            return None if premise is None else Apart(premise, _reach(scheme.window).on(shapes[own].step), text)
        case Follows(within=Span() as span):
            premise = premise_of(shapes, own, other, reference.pairs, Reach())
            return None if premise is None else Apart(premise, Reach(None, span.ticks).on(shapes[own].step), text)
        case ForeignKey():
            premise = premise_of(shapes, own, other, reference.pairs, _reach(scheme.window))
            if premise is None:
                return None
            named = {column for _, column in premise.pairs}
            return Partner(premise, len(named) == len(shapes[other].columns), text)
        case _:
            return None


def _reach(window: Window | None) -> Reach:
    if window is None:
        return Reach()
    return Reach(None if window.low is None else window.low.ticks, None if window.high is None else window.high.ticks)


def premise_of(
    shapes: Sequence[StreamShape], left: int, right: int, pairs: tuple[tuple[str, str], ...], when: Reach
) -> Premise | None:
    """Rows that agree on these columns; None if one pairs an event time with a column that is none."""
    places: list[tuple[int, int]] = []
    for own, other in pairs:
        pair = shapes[left].place(own), shapes[right].place(other)
        if pair[0] is not None and pair[1] is not None:
            places.append((pair[0], pair[1]))
        elif pair[0] is None and pair[1] is None:
            when = when.at_once()
        else:
            return None
    return Premise(left, right, tuple(places), when.on(shapes[left].step))


def _in_common(
    streams: Sequence[Stream], shapes: Sequence[StreamShape], left: int, right: int
) -> tuple[tuple[int, int], ...]:
    """The columns of one name in both streams. Values of types that do not compare are no common column."""
    found = []
    for own, its in columns_in_common(streams[left], streams[right]):
        i, j = shapes[left].place(own), shapes[right].place(its)
        kinds = streams[left].type_of(own), streams[right].type_of(its)
        comparable = kinds[0] is None or kinds[1] is None or kinds[0].compares_with(kinds[1])
        if i is not None and j is not None and comparable:
            found.append((i, j))
    return tuple(found)
