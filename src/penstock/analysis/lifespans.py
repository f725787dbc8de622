"""How long is a row of a stream kept, counted in event time from its own, and what does it wait for meanwhile?

A row leaves when every other stream is closed for it: the chain of closings by which the closing graph reaches them.
Where a stream is closed by its clock, that is once the clock has passed the row's own event time by so much: directly,
or, for the rows that it met meanwhile, by the sum of how far these may lie from it and how far the stream from these
(the bands where they stand together). A clock lags behind what was read by the lateness that its order allows.

Preconditions: lengths are those that hold on input that keeps its promises; they are counted as if all streams were
read equally far in event time, which is what makes them comparable on one axis. Not decided: how long other promises
take to close (rows that follow, punctuations, keys): such a wait has no length. What is not reached is waited for for
ever, unless rows are merged or evicted, which is for the finding of the stream to say.
"""

from __future__ import annotations

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ChainStep, ClosingGraph
from penstock.analysis.reasons import Reason
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Ordered
from penstock.model.spans import Rows, Span
from penstock.records import record


@record
class Wait:
    """What a row waits for of one stream."""

    target: str
    until: Reason | None
    """What must happen; None if nothing that is declared ever closes it."""
    met: tuple[str, ...] = ()
    """The streams whose rows, if it met any, this is counted from."""
    ticks: int | None = None
    """How far beyond the row's own event time the clock of the target must be; None if no clock tells."""
    late: int | None = 0
    """How far that clock lags behind what was read, at most; None if it is not declared in event time."""

    @property
    def end(self) -> int | None:
        """What event time must have been read of the target, counted from the row's own."""
        return None if self.ticks is None else max(0, self.ticks) + (self.late or 0)


@record
class Lifespan:
    """How long a row of a stream is kept."""

    alias: str
    waits: tuple[Wait, ...]
    instants: bool
    """Whether ticks are microseconds, and not the units of a number."""

    @property
    def end(self) -> int | None:
        """The last end of all that it waits for; None if one of them has none."""
        ends = [wait.end for wait in self.waits]
        known = [end for end in ends if end is not None]
        return max(known, default=0) if len(known) == len(ends) else None

    @property
    def is_endless(self) -> bool:
        """Whether it waits for something that nothing closes."""
        return any(wait.until is None for wait in self.waits)


def lifespan(graph: ClosingGraph, alias: str) -> Lifespan:
    """How long a row of one source is kept, by promises alone."""
    reach = graph.reach(alias)
    own = graph.query.by_alias[alias]
    kind = None if own.stream.event_time is None else own.stream.type_of(own.stream.event_time)
    waits = [_wait(graph, own, step) for step in reach.edges]
    waits += [Wait(target, None) for target in reach.unreached]
    return Lifespan(alias, tuple(waits), kind is not None and kind.is_instant)


def _wait(graph: ClosingGraph, own: Source, step: ChainStep) -> Wait:
    met = tuple(source for source in step.sources if source != own.alias)
    passage = step.closing.passage
    if passage is None or step.closing.way is not Way.CLOCK or own.event_time is None:
        never = step.closing.way is Way.NEVER
        return Wait(step.target, step.wait, met, 0 if never else None)
    begins = _apart(graph, passage.start, own.event_time)
    ticks = None if begins is None else begins + passage.ticks
    return Wait(step.target, step.wait, met, ticks, _lateness(step.closing.scheme))


def _apart(graph: ClosingGraph, later: ColumnRef, earlier: ColumnRef) -> int | None:
    """The most by which one column may lie above the other where both stand."""
    if later == earlier:
        return 0
    limit = graph.facts.of(later.alias, earlier.alias).bands.closes(later, earlier)
    return None if limit is None else limit.ticks


def _lateness(order: object) -> int | None:
    if not isinstance(order, Ordered):
        return None
    match order.slack:
        case Span() as span:
            return span.ticks
        case Rows(count=0):
            return 0
        case _:
            return None
