"""Which closings would one or two more declarations give? The steps that a fix is put together from.

For a target and another source: ORDERED BY a column of the target that lies only so far above one of the source;
FOLLOWS from the source, or PRIMARY KEY with FOREIGN KEY, over the columns that the two share; and, where the target
has punctuations already, PUNCTUATED ON the shared columns by the same rows. A FOREIGN KEY to a stream that may be
absent is none if equalities are all that is asked of it: its rows would always be there, and the outer join or EXISTS
ask nothing. Each is the weakest of its kind: over all shared columns together. Declarations whose numbers or conditions
the user must know (windows, COOCCURS, CHECK, a new WHEN) are advice in the reasons, never a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.closings.between import Way, guarantee
from penstock.analysis.closings.edges import Closing, Missing, passages, shared_columns
from penstock.analysis.closings.punctuated_columns import narrowed
from penstock.analysis.facts.together import Facts, Together
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Op, aliases_of
from penstock.model.schemes import Follows, ForeignKey, Ordered, PrimaryKey, Punctuated
from penstock.model.spans import Auto
from penstock.model.stream import Stream


def candidate_closings(facts: Facts, target: Source) -> Iterator[Closing]:
    """The closings of a source that are not there yet, each with the declarations that it lacks."""
    for own in facts.query.all_sources:
        if own.alias == target.alias:
            continue
        here = facts.of(own.alias, target.alias)
        if here.impossible:
            continue
        for way, passage in passages(own, target, here):
            if not target.stream.ordering(passage.ordered.column):
                missing = (target.stream.name, Ordered(passage.ordered.column, Auto()))
                yield Closing(target.alias, ((own.alias,),), way, (), (missing,), passage=passage)
        pairs = shared_columns(here, own.alias, target.alias)
        if pairs:
            yield from _by_shared_columns(own, target, pairs)
            for keys in _keys(own, target, here, pairs) if _leaves_a_question(facts, own, target) else ():
                yield Closing(target.alias, ((own.alias,),), Way.KEY, (), keys)


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
