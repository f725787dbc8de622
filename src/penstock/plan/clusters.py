"""CLUSTERED BY in the plan: which rows its clusters close a stream for (KMON section 5).

Theorem (KMON 5.1, C3): once more than k rows with other values followed the first v on a stream that keeps CA(k), no
row with v will come on it, so it is closed for every row of another stream that carries v in a column which equals the
clustered one. A cluster closes only values that came: it closes every value in the end only where a FOREIGN KEY, or a
self-join, guarantees that the value comes, and the column has values without end, so that others can follow.

Not decided here: whether that suffices for a bound, which is the analysis's question.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.domains import declared_domain
from penstock.analysis.edges import guarantee
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Clustered
from penstock.model.spans import Auto, Rows
from penstock.plan.closers import Pairing, promise_of
from penstock.plan.plan import Closer, CloserKind, PromiseKind, PromisePlan


def find_clusters(pairing: Pairing) -> tuple[tuple[Closer, ...], tuple[PromisePlan, ...]]:
    """The closers that clusters make, and the promises that they rest on."""
    found = [closer for i, j in pairing.pairs() for closer in _cluster_closers(pairing, i, j)]
    used = {(c.target, c.constraints) for c in found}
    promises = [
        promise_of(PromiseKind.CLUSTERED, source, scheme, (scheme.column,), rows=_rows(scheme))
        for source in pairing.query.all_sources
        for scheme in source.stream.schemes
        if isinstance(scheme, Clustered) and (source.alias, (scheme.on(source.stream.name),)) in used
    ]
    return tuple(found), tuple(promises)


def _cluster_closers(pairing: Pairing, i: Source, j: Source) -> Iterator[Closer]:
    for scheme in j.stream.schemes:
        if not isinstance(scheme, Clustered):
            continue
        own = pairing.partners(i.alias, ColumnRef(j.alias, scheme.column))[:1]
        if not own:
            continue
        constraint = scheme.on(j.stream.name)
        sure = guarantee(i, j, pairing.combinations.of(i.alias, j.alias), (scheme.column,))
        moves_on = declared_domain(j.stream, scheme.column).size is None
        reasons = constraint if sure is None else f"{constraint}; {sure.text}"
        yield Closer(
            CloserKind.CLUSTER,
            i.alias,
            j.alias,
            sure is not None and moves_on,
            own if sure is None else sure.own,
            (scheme.column,),
            None,
            None,
            False,
            _rows(scheme),
            (constraint,),
            f"its {ColumnRef(j.alias, scheme.column)} has come, and {_others(scheme)} followed it ({reasons})",
        )


def _rows(scheme: Clustered) -> int | None:
    return scheme.slack.count if isinstance(scheme.slack, Rows) else None


def _others(scheme: Clustered) -> str:
    match scheme.slack:
        case Rows(count=0):
            return "another"
        case Auto():
            return "more others than the k that is learned"
        case slack:
            assert isinstance(slack, Rows)
            return f"more than {slack.count} others"
