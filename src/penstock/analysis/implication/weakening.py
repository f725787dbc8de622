"""Constraints about arrival and constants that follow from one declaration: the same, or a stronger one.

Implied are: ORDERED, CLUSTERED and FOLLOWS with a larger k or d, or AUTO, where a number is declared; FOLLOWS on more
columns; ORDERED BY a column that ARRIVES BY names; CLUSTERED BY a key, or by a column that never falls; PUNCTUATED on
more columns, or with a shorter LIFESPAN; CHECK of what a CHECK, the WHERE or the type says.

These are outside REWRITE's language. What does not follow in this way is not decided, since several declarations
together may still imply it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.facts.domains import Domain, declared_domain
from penstock.analysis.facts.values import has_steps, step_of
from penstock.analysis.reasons import Told
from penstock.model.predicates import Bound, NullTest, OneOf, Op, Predicate
from penstock.model.schemes import Check, Clustered, Follows, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Auto, Rows, Span, Within
from penstock.model.stream import Stream

Answer = tuple[bool | None, tuple[Told, ...]]


def weaker(stream: Stream, scheme: Scheme) -> Answer:
    """Whether one declaration of the stream is at least as strong."""
    if isinstance(scheme, Check):
        return _check(stream, scheme)
    found = next(_stronger(stream, scheme), None)
    if found is not None:
        return True, (ProofStep.DECLARED(found),)
    return None, (ProofStep.NO_SINGLE(),)


def _stronger(stream: Stream, scheme: Scheme) -> Iterator[str]:
    arrival = stream.arrival
    # Within each part rows rise; those of several parts come in turns, so no value's stand together.
    is_scattered = isinstance(scheme, Clustered) and stream.has_parts
    if arrival is not None and isinstance(scheme, Ordered | Clustered) and arrival.column == scheme.column:
        yield from () if is_scattered else (arrival.on(stream.name),)
    for declared in stream.schemes:
        if _is_stronger(declared, scheme) and not (is_scattered and isinstance(declared, Ordered)):
            yield declared.on(stream.name)


def _is_stronger(declared: Scheme, wanted: Scheme) -> bool:
    match wanted, declared:
        case Ordered(), Ordered():
            return declared.column == wanted.column and _is_within(declared.slack, wanted.slack)
        case Clustered(), Clustered():
            return declared.column == wanted.column and _is_within(declared.slack, wanted.slack)
        case Clustered(), Ordered():
            return declared.column == wanted.column and _never_falls(declared.slack)
        case Clustered(), PrimaryKey():
            return list(declared.columns) == [wanted.column]
        case Follows(), Follows():
            same = declared.parent == wanted.parent and _pairs(declared) <= _pairs(wanted)
            # A span here is about event times, and says nothing of rows that arrive.
            return same and not isinstance(declared.slack, Span) and _is_within(declared.slack, wanted.slack)
        case Punctuated(), Punctuated():
            fewer = set(declared.columns) <= set(wanted.columns)
            return fewer and set(declared.when) == set(wanted.when) and _outlives(declared, wanted)
        case _:
            return False


def _never_falls(slack: Within) -> bool:
    return (isinstance(slack, Rows) and slack.count == 0) or (isinstance(slack, Span) and slack.ticks == 0)


def _is_within(declared: Within, wanted: Within) -> bool:
    """Whether straying by no more than one is straying by no more than the other."""
    match declared, wanted:
        case Rows(), Rows():
            return declared.count <= wanted.count
        case Span(), Span():
            return declared.ticks <= wanted.ticks
        case Auto(), Auto():
            return True
        case Rows(), Auto():
            return True
        case _:
            return _never_falls(declared) and not isinstance(wanted, Auto)


def _pairs(scheme: Follows) -> set[tuple[str, str]]:
    return {(own, other) for own, other in zip(scheme.columns, scheme.parent_columns, strict=True)}


def _outlives(declared: Punctuated, wanted: Punctuated) -> bool:
    if declared.lifespan is None:
        return True
    return wanted.lifespan is not None and wanted.lifespan.ticks <= declared.lifespan.ticks


def _check(stream: Stream, scheme: Check) -> Answer:
    because: list[Told] = []
    for predicate in scheme.condition:
        reasons = _reasons(stream, predicate)
        if reasons is None:
            return None, (ProofStep.NOT_IMPLIED(stream.name, predicate),)
        because += reasons
    return True, tuple(ProofStep.DECLARED(reason) for reason in dict.fromkeys(because))


def _reasons(stream: Stream, predicate: Predicate) -> list[Told] | None:
    """The declarations that no row can keep and make the condition false; None if they were not found."""
    for declared in stream.schemes:
        if isinstance(declared, Check) and predicate in declared.condition:
            return [declared.on(stream.name)]
    if predicate in stream.where:
        return [ProofStep.WHERE_OF(predicate, stream.name)]
    if isinstance(predicate, NullTest) and not predicate.is_null:
        domain = declared_domain(stream, predicate.column.column)
        return None if domain.nullable else [ProofStep.NEVER_NULL(predicate.column.column, stream.name)]
    if isinstance(predicate, Bound | OneOf):
        domain = declared_domain(stream, predicate.column.column)
        return [*domain.because] if _lies_in(stream, domain, predicate) else None
    return None


def _lies_in(stream: Stream, domain: Domain, predicate: Bound | OneOf) -> bool:
    """Whether every value of a domain satisfies a condition. NULL does not make it false."""
    kind = stream.type_of(predicate.column.column)
    if kind is None or not has_steps(kind):
        if domain.members is None:
            return False
        allowed = {c.value for c in predicate.constants} if isinstance(predicate, OneOf) else None
        if isinstance(predicate, Bound) and predicate.op is Op.EQ:
            allowed = {predicate.constant.value}
        return allowed is not None and domain.members <= allowed
    if isinstance(predicate, OneOf):
        places = {step_of(constant, kind) for constant in predicate.constants}
        values = domain.members
        if values is None and domain.low is not None and domain.high is not None:
            values = frozenset(range(domain.low, domain.high + 1)) if domain.high - domain.low < len(places) else None
        return values is not None and values <= places
    at = step_of(predicate.constant, kind)
    if at is None:
        return False
    steps = [m for m in domain.members if isinstance(m, int)] if domain.members is not None else None
    low = min(steps, default=None) if steps is not None else domain.low
    high = max(steps, default=None) if steps is not None else domain.high
    match predicate.op:
        case Op.LT:
            return high is not None and high < at
        case Op.LE:
            return high is not None and high <= at
        case Op.GT:
            return low is not None and low > at
        case Op.GE:
            return low is not None and low >= at
        case _:
            return low is not None and low == high == at
