"""The punctuations of a query as the plan carries them: closers, joint closers, and the promises to be watched.

What fixes the columns of a punctuation is for analysis/closings/punctuated_columns.py to say. Where one stream
carries them all it is a closer like any other; where only several do together it is a joint closer, one for all choices
of partners. A scheme with a column that nothing fixes is **useless** to the query, and its punctuations are dropped at
the source. They are no data all the same.

Not used: a punctuation all of whose columns filters fix, which would end the stream for the query; and punctuations of
every value of a column of few values, which together would close what their other columns name.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.closings.punctuated_columns import narrowed, punctuated_columns
from penstock.analysis.facts.together import Facts
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, conjunction
from penstock.model.query import Query
from penstock.model.schemes import Punctuated
from penstock.plan.closer_plans import Closer, CloserKind, JointCloser
from penstock.plan.promise_plans import PromiseKind, PromisePlan, PunctuationRows
from penstock.plan.promises import promise_of
from penstock.records import record


@record
class Punctuations:
    """What the punctuations of a query are good for."""

    closers: tuple[Closer, ...]
    joint_closers: tuple[JointCloser, ...]
    promises: tuple[PromisePlan, ...]


@record
class _Use:
    """A useful scheme of one source: the columns whose values tuples carry, and what else a punctuation must meet."""

    source: Source
    scheme: Punctuated
    columns: tuple[str, ...]
    partners: tuple[tuple[ColumnRef, ...], ...]
    """For each of the columns, its equals on other sources."""
    fixed: tuple[Bound, ...]

    @property
    def constraint(self) -> str:
        return self.scheme.on(self.source.stream.name)

    @property
    def certain(self) -> bool:
        """Whether every value is closed in the end: a WHEN that reads an ON column closes only some."""
        return narrowed(self.scheme, self.source.stream) is None


def find_punctuation_rows(query: Query) -> tuple[PunctuationRows, ...]:
    """Every PUNCTUATED of the streams that are read: which rows are no data."""
    found = [
        PunctuationRows(source.stream.name, scheme.on(source.stream.name), conjunction(scheme.when))
        for source in query.all_sources
        for scheme in source.stream.schemes
        if isinstance(scheme, Punctuated)
    ]
    return tuple(dict.fromkeys(found))


def find_punctuations(
    facts: Facts,
    useless: frozenset[tuple[str, str]] = frozenset(),
    remembered: frozenset[tuple[str, str]] = frozenset(),
) -> Punctuations:
    """The closers and promises of all useful schemes; `useless` are those that never fire, by alias and text.

    `remembered` are those that may close what the second stage remembers, whatever else they close. One that closes for
    a single row by itself is of use all the same: what it does name, it lets go.
    """
    closers: list[Closer] = []
    joint: list[JointCloser] = []
    promises: list[PromisePlan] = []
    for use in _uses(facts, remembered):
        alone = [*_closers(facts.query, use)]
        if not alone and (use.source.alias, use.constraint) in useless:
            continue
        closers += alone
        joint += _joint_closers(use)
        lifespan = None if use.scheme.lifespan is None else use.scheme.lifespan.ticks
        conditions = [f"({conjunction(use.scheme.when)})", *(str(bound) for bound in use.fixed)]
        promises.append(
            promise_of(
                PromiseKind.PUNCTUATED,
                use.source,
                use.scheme,
                use.columns,
                high=lifespan,
                when=" AND ".join(conditions),
            )
        )
    return Punctuations(
        tuple(sorted(closers, key=lambda c: (c.source, c.target, c.target_columns, c.because))),
        tuple(joint),
        tuple(promises),
    )


def _uses(facts: Facts, remembered: frozenset[tuple[str, str]]) -> Iterator[_Use]:
    for source in facts.query.all_sources:
        for scheme in source.stream.schemes:
            if not isinstance(scheme, Punctuated):
                continue
            columns = punctuated_columns(facts, source, scheme)
            carried = [column for column in columns if column.equals]
            fixed = [column.constant for column in columns if not column.equals and column.constant is not None]
            if carried and len(carried) + len(fixed) == len(columns):
                names, equals = tuple(c.ref.column for c in carried), tuple(c.equals for c in carried)
                yield _Use(source, scheme, names, equals, tuple(fixed))
            elif (source.alias, scheme.on(source.stream.name)) in remembered:
                yield _Use(source, scheme, tuple(c.ref.column for c in columns), ((),) * len(columns), ())


def _closers(query: Query, use: _Use) -> Iterator[Closer]:
    for other in query.all_sources:
        carried = [next((r.column for r in refs if r.alias == other.alias), None) for refs in use.partners]
        if None not in carried:
            columns = tuple(column for column in carried if column is not None)
            yield Closer(
                kind=CloserKind.PUNCTUATION,
                source=other.alias,
                target=use.source.alias,
                certain=use.certain,
                columns=columns,
                target_columns=use.columns,
                excess=None,
                rows=None,
                constraints=(use.constraint,),
                because=(use.constraint,),
            )


def _joint_closers(use: _Use) -> Iterator[JointCloser]:
    """One, if streams that do not carry all the columns by themselves carry them between them."""
    carrying = [{ref.alias for ref in refs} for refs in use.partners]
    whole = set.intersection(*carrying)
    if all(aliases - whole for aliases in carrying):
        yield JointCloser(use.source.alias, use.certain, use.columns, use.partners, use.constraint)
