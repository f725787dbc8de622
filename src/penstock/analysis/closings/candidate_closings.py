"""Which closings would one or two more declarations give? The steps that a fix is put together from.

For a target and another source: ORDERED BY a column of the target that lies only so far above one of the source, but
of a stream with a watermark no mere join key, which comes in no order; COOCCURS over the columns that the two share,
with the clock of the target ordered; FOLLOWS from the source, or PRIMARY KEY with FOREIGN KEY, over these columns; and,
where the target has punctuations already, PUNCTUATED ON them by the same rows. A FOREIGN KEY to a stream that may be
absent is none if equalities are all that is asked of it: its rows would always be there, and the outer join or EXISTS
ask nothing. Each is the weakest of its kind: over all shared columns together. The window of COOCCURS is an example
(`_example_window`), which the report says. Other declarations whose numbers or conditions the user must know (windows,
CHECK, a new WHEN) are advice in the reasons, never a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from penstock.analysis.closings.between import Passage, Way, guarantee
from penstock.analysis.closings.edges import Closing, Missing, passages, shared_columns
from penstock.analysis.closings.punctuated_columns import narrowed
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.facts.together import Facts, Together
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Op, aliases_of
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated
from penstock.model.spans import Auto, Span, Unit, Window
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind


def candidate_closings(facts: Facts, target: Source) -> Iterator[Closing]:
    """The closings of a source that are not there yet, each with the declarations that it lacks."""
    for own in facts.query.all_sources:
        if own.alias == target.alias:
            continue
        here = facts.of(own.alias, target.alias)
        if here.impossible:
            continue
        for way, passage in passages(own, target, here):
            if not target.stream.ordering(passage.ordered.column) and not _is_mere_key(target, passage, here):
                missing = (target.stream.name, Ordered(passage.ordered.column, Auto()))
                yield Closing(target.alias, ((own.alias,),), way, (), (missing,), passage=passage)
        pairs = shared_columns(here, own.alias, target.alias)
        if pairs:
            yield from _by_clocks(facts, own, target, pairs)
            yield from _by_shared_columns(own, target, pairs)
            for keys in _keys(own, target, here, pairs) if _leaves_a_question(facts, own, target) else ():
                yield Closing(target.alias, ((own.alias,),), Way.KEY, (), keys)


def _is_mere_key(target: Source, passage: Passage, here: Together) -> bool:
    """Whether a column of a stream with a watermark is met by equality alone, and comes in no order that is told."""
    stream, column = target.stream, passage.ordered.column
    if stream.event_time in (None, column) or (stream.arrival is not None and stream.arrival.column == column):
        return False
    return here.equalities.equal(passage.ordered, passage.start)


def _by_clocks(facts: Facts, own: Source, target: Source, pairs: tuple[tuple[str, str], ...]) -> Iterator[Closing]:
    """COOCCURS over the shared columns and the clock of the target, where nothing limits how far clocks lie apart."""
    start, clock = own.event_time, target.event_time
    if start is None or clock is None or own.stream.name == target.stream.name:
        return
    kinds = facts.query.type_of(start), facts.query.type_of(clock)
    if kinds[0] is None or kinds[1] is None or not kinds[0].compares_with(kinds[1]):
        return
    if (
        never_passes(target.stream, clock.column)
        or facts.of(own.alias, target.alias).bands.upper(clock, start) is not None
    ):
        return
    window = _example_window(kinds[1])
    # One declaration for both ways: by the stream that FROM names first.
    order = facts.query.all_sources
    if order.index(own) < order.index(target):
        declares, (columns, theirs), other = own, zip(*pairs, strict=True), target
    else:
        declares, (theirs, columns), other = target, zip(*pairs, strict=True), own
    cooccurs = Cooccurs(columns, other.stream.name, theirs, window)
    missing: list[Missing] = [(declares.stream.name, cooccurs)]
    if not target.stream.ordering(clock.column):
        missing.append((target.stream.name, Ordered(clock.column, Auto())))
    yield Closing(target.alias, ((own.alias,),), Way.CLOCK, (), tuple(missing))


def _example_window(clock: DataType) -> Window:
    """The window of a COOCCURS that is proposed; only the user knows the right one, or the data (`profile`)."""
    if clock.is_integer:
        return Window(Span(Decimal(-1000)), Span(Decimal(1000)))
    unit = Unit.DAY if clock.kind is Kind.DATE else Unit.HOUR
    return Window(Span(Decimal(-1), unit), Span(Decimal(1), unit))


def _by_shared_columns(own: Source, target: Source, pairs: tuple[tuple[str, str], ...]) -> Iterator[Closing]:
    needs = ((own.alias,),)
    columns, theirs = zip(*pairs, strict=True)
    follows = Follows(target.stream.name, theirs, columns, Auto())
    yield Closing(target.alias, needs, Way.FOLLOWS, (), ((own.stream.name, follows),))
    for scheme in target.stream.schemes:
        if isinstance(scheme, Punctuated):
            other = Punctuated(theirs, scheme.when, scheme.lifespan)
            if narrowed(other, target.stream) is None and not _is_declared(target.stream, other):
                yield Closing(target.alias, needs, Way.PUNCTUATION, (), ((target.stream.name, other),))


def _keys(
    own: Source, target: Source, here: Together, pairs: tuple[tuple[str, str], ...]
) -> Iterator[tuple[Missing, ...]]:
    """A key that the source names, and the guarantee that it arrives: what of the two is not declared."""
    of = {theirs: mine for mine, theirs in pairs}
    for key in target.stream.keys:
        if set(key) <= set(of) and guarantee(own, target, here, key) is None:
            foreign = ForeignKey(tuple(of[c] for c in key), target.stream.name, key)
            yield ((own.stream.name, foreign),)
    for scheme in own.stream.schemes:
        if isinstance(scheme, ForeignKey) and scheme.parent == target.stream.name:
            named = scheme.parent_columns
            is_new = named not in target.stream.keys
            if is_new and guarantee(own, target, here, named) is not None and _is_carried(target, named):
                yield ((target.stream.name, PrimaryKey(named)),)


def _leaves_a_question(facts: Facts, own: Source, target: Source) -> bool:
    """Whether a row may lack its match in the target though the row that it names is sure to come."""
    query = facts.query
    if target.alias in facts.of(own.alias).present:
        return True
    asked = [p for p in query.predicates if target.alias in aliases_of(p)]
    windowed = any(source.window is not None for source in query.all_sources)
    return windowed or not all(isinstance(p, Comparison) and p.op is Op.EQ for p in asked)


def _is_carried(target: Source, columns: tuple[str, ...]) -> bool:
    return all(ColumnRef(target.alias, c).column in {k.name for k in target.stream.carried} for c in columns)


def _is_declared(stream: Stream, scheme: Punctuated) -> bool:
    return any(isinstance(s, Punctuated) and s.text == scheme.text for s in stream.schemes)
