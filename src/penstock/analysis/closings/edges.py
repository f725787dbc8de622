"""Which declarations close which stream for whose rows? The edges of SAFETY's graphs, one function for each kind.

A closing says: wherever rows of some sources stand together, no future row of `target` can match them in the end, on
any input that keeps its promises and whose streams move on. Each of its `needs` names the sources any one of which
will do, so one closing stands for a generalized edge for every choice of partners (ERRATA, SAFETY), and one need is a
plain edge of Definition 7. There is a closing when

- the two never stand together;
- an order of the target, a FOLLOWS of i, or a key or cluster of the target closes it for rows of i
  (closings/between.py);
- it is PUNCTUATED ON columns each of which equals one of a source, or takes finitely many values: the scheme (A, X)
  with X tied to nothing closes nothing (ERRATA);
- i has [ROWS n]: what a row of i holds together is out of reach once n more arrived, whatever the target.

Preconditions: equalities and bands are those that hold where the sources stand together. A stream moves on when its
clock, each ORDERED column and each cluster pass every value; a column with a largest value (largest_value.py) or with a
finite domain under CLUSTERED cannot, and gives no edge. A WHEN that reads a column of ON closes only some values, and
gives none either. Not decided: what filters on the target alone add, such as `target.ts < constant`.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.closings import between
from penstock.analysis.closings.between import PairClosing, Passage, Way
from penstock.analysis.closings.punctuated_columns import narrowed, punctuated_columns
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.facts.together import Facts, Together
from penstock.analysis.reasons import Because, Reason, Told, WaitsUntil, WhyOpen
from penstock.model.clauses import RowsWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.schemes import Clustered, Follows, NamedTime, Ordered, Punctuated, Scheme
from penstock.model.spans import Rows
from penstock.model.stream import Stream
from penstock.records import record

Missing = tuple[str, Scheme | NamedTime]
"""A declaration that a stream does not make: the stream's name, and the scheme."""


@record
class Closing:
    """One way in which a target is closed, and for whom."""

    target: str
    needs: tuple[tuple[str, ...], ...]
    """For each, one of these sources must be among those that stand together."""
    way: Way
    stated: tuple[Told, ...]
    """The declarations by which it closes, or why nothing meets; what limits a passage is beside them."""
    missing: tuple[Missing, ...] = ()
    """The declarations that would make this a closing; none if it is one."""
    scheme: Scheme | None = None
    """The declaration that closes, if it is a single one."""
    passage: Passage | None = None
    """The ordered column that must pass, if that is what closes."""
    carried: tuple[tuple[ColumnRef, tuple[ColumnRef, ...]], ...] = ()
    """For a punctuation: each of its columns, and the columns of others that equal it; one for each need."""
    certain: bool = True
    """Whether it closes every value in the end; if not, only values that did arrive."""
    rows: int | None = None
    """The n of the [ROWS n] that closes, if one does."""

    @property
    def because(self) -> tuple[Told, ...]:
        """What makes it so."""
        return self.stated if self.passage is None else (*self.passage.reasons, *self.stated)

    def wait(self, carriers: tuple[str, ...]) -> Reason:
        """What must happen before the target is closed for rows of those who meet its needs."""
        if self.passage is not None:
            return self.passage.wait
        if self.rows is not None:
            return WaitsUntil.WINDOW_LEFT(self.rows, carriers[0])
        if self.way is Way.NEVER:
            return WaitsUntil.NEVER_MATCHED(self.target)
        match self.scheme or self.missing[0][1]:
            case Punctuated():
                named = zip(self.carried, carriers, strict=False)
                values = [(column, next(ref for ref in equal if ref.alias == via)) for (column, equal), via in named]
                return WaitsUntil.PUNCTUATED(self.target, [WaitsUntil.IS(*pair) for pair in values])
            case Follows(slack=slack):
                return counted(slack.count if isinstance(slack, Rows) else None, self.target)
            case Clustered(column=column):
                return WaitsUntil.CLUSTER_ENDED(self.target, quoted(column))
            case _:
                return WaitsUntil.KEY_ARRIVED(self.target)


def declared_closings(facts: Facts, target: Source) -> Iterator[Closing]:
    """Every way in which the declarations close a source, the uncertain ones included."""
    for scheme in target.stream.schemes:
        if isinstance(scheme, Punctuated):
            yield from _punctuated(facts, target, scheme)
    for own in facts.query.all_sources:
        if own.alias == target.alias:
            continue
        here = facts.of(own.alias, target.alias)
        if here.impossible:
            yield Closing(target.alias, ((own.alias,),), Way.NEVER, here.impossible)
            continue
        yield from _ordered(own, target, here)
        yield from _followed(facts, own, target)
        yield from _named(own, target, here)
        if isinstance(own.window, RowsWindow):
            count = own.window.count
            because = (Because.OUT_OF_REACH(own.window, own.alias, count),)
            yield Closing(target.alias, ((own.alias,),), Way.WINDOW, because, rows=count)


def shared_columns(here: Together, own: str, other: str) -> tuple[tuple[str, str], ...]:
    """One pair of columns for each equality class that the two sources share."""
    mine, theirs = here.keys.get(own, {}), here.keys.get(other, {})
    return tuple(sorted((mine[number], theirs[number]) for number in mine if number in theirs))


def stalled(own: Source, other: Source, here: Together) -> Iterator[Reason]:
    """The ordered columns of a source that would close it for another's rows, and why they do not get there."""
    for column in other.stream.carried:
        ref = ColumnRef(other.alias, column.name)
        is_ordered = ref == other.event_time or other.stream.ordering(column.name)
        if is_ordered and here.bands.touches(ref) and _first_passage(own, other, ref, here) is not None:
            limit = never_passes(other.stream, column.name)
            if limit is not None:
                yield WhyOpen.COLUMN_STOPS(ref, limit)


def order_text(stream: Stream, scheme: Ordered) -> str:
    """The declaration by which a column is ordered, as it was written."""
    if scheme in stream.schemes:
        return scheme.on(stream.name)
    assert stream.arrival is not None
    return stream.arrival.on(stream.name)


def passages(own: Source, target: Source, here: Together) -> Iterator[tuple[Way, Passage]]:
    """The columns of a target that lie only so far above one of a source, and so close it if they are ordered."""
    for ref in here.touched(target):
        found = _first_passage(own, target, ref, here)
        if found is not None and never_passes(target.stream, ref.column) is None:
            yield (Way.CLOCK if ref == target.event_time else Way.ORDER), found


def _first_passage(own: Source, target: Source, ordered: ColumnRef, here: Together) -> Passage | None:
    """From the event time of the source, if that will do."""
    starts = (ref.column for ref in here.touched(own))
    return next(between.passages(own, ordered, target, here, starts), None)


def _ordered(own: Source, target: Source, here: Together) -> Iterator[Closing]:
    starts = tuple(ref.column for ref in here.touched(own))
    for ref in here.touched(target):
        for order in target.stream.ordering(ref.column)[:1]:
            closing = next(between.passed(own, target, order, here, starts), None)
            if closing is not None and closing.passage is not None and closing.certain:
                yield _plain(closing, (order_text(target.stream, order),))


def _followed(facts: Facts, own: Source, target: Source) -> Iterator[Closing]:
    for closing in between.followed(facts, own, target):
        yield _plain(closing, (closing.scheme.on(own.stream.name),))


def _named(own: Source, target: Source, here: Together) -> Iterator[Closing]:
    for closing in between.named(own, target, here):
        guaranteed = () if closing.sure is None else (closing.sure.because,)
        yield _plain(closing, (closing.scheme.on(target.stream.name), *guaranteed))


def _plain(closing: PairClosing, stated: tuple[Told, ...]) -> Closing:
    """A closing for the rows of one source as an edge."""
    return Closing(
        closing.target,
        ((closing.source,),),
        closing.way,
        stated,
        scheme=closing.scheme,
        passage=closing.passage,
        certain=closing.certain,
    )


def _punctuated(facts: Facts, target: Source, scheme: Punctuated) -> Iterator[Closing]:
    if narrowed(scheme, target.stream) is not None:
        return
    columns = punctuated_columns(facts, target, scheme)
    carried = tuple((column.ref, column.equals) for column in columns if column.equals)
    few: list[Reason] = []
    for column in columns:
        if column.equals:
            continue
        if column.values is None:
            return
        few.append(Because.VALUES_PUNCTUATED(column.ref, column.values))
    if carried:
        needs = tuple(tuple(dict.fromkeys(r.alias for r in equal)) for _, equal in carried)
        because: tuple[Told, ...] = (scheme.on(target.stream.name), *few)
        yield Closing(target.alias, needs, Way.PUNCTUATION, because, scheme=scheme, carried=carried)


def counted(rows: int | None, alias: str) -> Reason:
    """That so many more rows of a stream have arrived; None if the number is learned."""
    match rows:
        case None:
            return WaitsUntil.LEARNED_ROWS_ARRIVED(alias)
        case 0:
            return WaitsUntil.BATCH_DONE(alias)
        case _:
            return WaitsUntil.ROWS_ARRIVED(rows, alias)
