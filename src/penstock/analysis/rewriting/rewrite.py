"""Can the joins of a query be replaced by counts, at which error, and is that allowed? (REWRITE section 4)

It is done where it is exact, or where ERROR(p PERCENT) allows the boundary error. Otherwise it is an offer: the finding
holds the counts and their price, and `applies` is false. It is not done under a BUDGET, where a declaration asks to be
watched (ON VIOLATION FAIL or QUARANTINE; counts watch nothing), or where Spark could not tell when a window is over:
that takes ORDERED BY the event time WITHIN a span on every counted stream, and event times that are TIMESTAMPs.

`applies` is null where the implication of a precondition could not be decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.finding import RewriteFinding
from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.bound import boundary
from penstock.analysis.rewriting.compose import Composed, compose
from penstock.analysis.rewriting.count_queries import BOUNDS, CountedSource, CountOutput, Rewriting
from penstock.analysis.rewriting.count_values import count_value, formula_value
from penstock.analysis.rewriting.eliminate_joins import under
from penstock.analysis.rewriting.question import CountQuestion, count_question
from penstock.analysis.rewriting.substreams import SubStreams
from penstock.model.clauses import Aggregate, Formula, Output, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold
from penstock.model.predicates import Bound, Equalities, OneOf, conjunct, conjunction
from penstock.model.query import Query
from penstock.model.schemes import Policy, Punctuated
from penstock.model.spans import Span
from penstock.model.stream import MalformedPolicy, Stream
from penstock.model.types import Kind


def rewrite_finding(query: Query) -> RewriteFinding:
    """Whether counts replace the joins of a query."""
    question = count_question(query)
    if isinstance(question, Reason):
        return RewriteFinding(False, because=(question,))
    known = SubStreams(question)
    composed = next(_uncountable(known), None) or compose(known)
    if isinstance(composed, Reason):
        return RewriteFinding(False if known.is_decided else None, because=(composed,))
    period = question.window.span.ticks
    made = _rewriting(known, composed)
    because = tuple(_reasons(question, composed))
    if made.reach >= period:
        why = CountReason.TOO_FAR()
        return RewriteFinding(False, because=(why,))
    unable = next(_unable(question, made), None)
    if unable is None:
        unable = _not_allowed(query, made)
    return RewriteFinding(unable is None, made.error_bound, made.sql, made, because, unable)


def _uncountable(known: SubStreams) -> Iterator[Reason]:
    """Counts of columns that are no counts of rows."""
    for output in known.question.query.outputs:
        value = output.value
        if not isinstance(value, Aggregate) or value.function != "count" or value.argument is None:
            continue
        argument = value.argument
        if value.more or not isinstance(argument, ColumnRef) or not known.has_value(argument.alias, argument.column):
            yield CountReason.MAY_COUNT_NULL(value)
        elif value.distinct and not known.is_key(argument.alias, (argument.column,)):
            yield CountReason.MAY_COUNT_EQUAL(value)


def _rewriting(known: SubStreams, composed: Composed) -> Rewriting:
    question = known.question
    sources = tuple(_counted(known, composed, alias) for alias in composed.lags)
    error = question.query.hints.error
    return Rewriting(
        question.root,
        composed.counted,
        composed.removed[0] if composed.removed else None,
        sources,
        question.window.span.ticks,
        tuple(_output(question, output) for output in question.query.answer),
        error is not None and error.with_bounds,
    )


def _counted(known: SubStreams, composed: Composed, alias: str) -> CountedSource:
    question = known.question
    stream = question.query.by_alias[alias].stream
    lag = composed.lags[alias]
    assert stream.event_time is not None
    assert lag.low is not None
    assert lag.high is not None
    slack = _slack(stream)
    partner = composed.apart if alias in composed.removed else lag
    assert partner.low is not None
    assert partner.high is not None
    asked = composed.asked.get(alias, partner)
    return CountedSource(
        alias,
        stream.name,
        stream.event_time,
        tuple(_conditions(question, alias, stream, composed.removed if alias in composed.removed else (alias,))),
        composed.groups[alias],
        tuple(dict.fromkeys(_keys(question, composed, alias))),
        lag.low,
        lag.high,
        partner.low,
        partner.high,
        partner.low if asked.low is None else min(asked.low, partner.low),
        partner.high if asked.high is None else max(asked.high, partner.high),
        0 if slack is None else slack,
    )


def _conditions(question: CountQuestion, alias: str, stream: Stream, united: tuple[str, ...]) -> Iterator[str]:
    """What a row must satisfy to be counted; where several sources are counted as one, what it must of one of them."""
    for scheme in stream.schemes:
        if isinstance(scheme, Punctuated):
            yield f"NOT coalesce(({conjunction(scheme.when)}), false)"
    asked = [tuple(_asked(question, alias, stream, source)) for source in united]
    common = [condition for condition in asked[0] if all(condition in found for found in asked)]
    yield from common
    choices = [" AND ".join(condition for condition in found if condition not in common) for found in asked]
    if all(choices):  # not where all rows of one of them count, as of a single source, whose conditions are all common
        yield f"({' OR '.join(choices)})"


def _asked(question: CountQuestion, alias: str, stream: Stream, source: str) -> Iterator[str]:
    """The conditions on one source, under an alias."""
    for predicate in question.filters[source]:
        moved = predicate if source == alias else under(alias, predicate)
        assert moved is not None
        yield conjunct(moved)
    never_null = {column for key in stream.keys for column in key} | {stream.event_time or ""}
    never_null |= {p.column.column for p in question.filters[source] if isinstance(p, Bound | OneOf)}
    for column in sorted(question.not_null(source)):
        if column not in never_null:
            yield f"{ColumnRef(alias, column)} IS NOT NULL"


def _keys(question: CountQuestion, composed: Composed, alias: str) -> Iterator[str]:
    """The columns by which a source is matched, in an order that all counted sources share."""
    ties = (*question.ties, *(p for found in question.ties_without.values() for p in found))
    from_classes = Equalities.of(ties).classes
    for members in from_classes:
        columns = {ref.alias: ref.column for ref in members}
        if all(source in columns for source in composed.lags):
            yield columns[alias]


def _output(question: CountQuestion, output: Output | Formula) -> CountOutput:
    match output if isinstance(output, Formula) else output.value:
        case TimeWindow(end=end):
            return CountOutput(output.name, end or "window")
        case ColumnRef() as ref:
            return CountOutput(output.name, "group", question.groups.index(ref))
        case Aggregate() | Formula() as value:
            found = count_value(value) if isinstance(value, Aggregate) else formula_value(value)
            assert found is not None
            return CountOutput(output.name, "count", text=found.text, falls=found.slope < 0)
        case value:
            raise AssertionError(f"{value} is neither a group nor a count")


def _slack(stream: Stream) -> int | None:
    """The span by which event times may stray from their order; None if none is declared."""
    spans = [scheme.slack.ticks for scheme in stream.low if isinstance(scheme.slack, Span)]
    if any(not isinstance(scheme.slack, Span) and scheme.within is None for scheme in stream.low):
        spans.append(0)  # ORDERED BY without WITHIN, or ARRIVES BY the event time
    return min(spans, default=None)


def _unable(question: CountQuestion, made: Rewriting) -> Iterator[Reason]:
    """Why the counts cannot be run in place of the query, whatever error is allowed."""
    query = question.query
    if query.hints.budget is not None:
        yield CountReason.BUDGET_GIVEN()
    added = {fold(name) for name in (*BOUNDS, *(name for name, _ in made.limits))} if made.with_bounds else set()
    for output in made.outputs:
        if fold(output.name) in added:
            yield CountReason.NAME_TAKEN(output.name)
    for source in query.all_sources:
        stream = source.stream
        schemes = (*stream.schemes, *((stream.arrival,) if stream.arrival is not None else ()))
        for scheme in schemes:
            policy = scheme.on_violation.policy if scheme.on_violation is not None else Policy.ADAPT
            if policy in (Policy.FAIL, Policy.QUARANTINE, Policy.RECOVER):
                yield CountReason.TO_BE_WATCHED(scheme.on(stream.name), policy)
        if stream.on_malformed is not None and stream.on_malformed.policy is MalformedPolicy.QUARANTINE:
            yield CountReason.KEPT_OUT(stream.on_malformed.text, stream.name)
    for alias in (source.alias for source in made.sources):
        stream = query.by_alias[alias].stream
        clock = stream.clock
        if clock is None or clock.kind is not Kind.TIMESTAMP:
            yield CountReason.NO_TIMESTAMP(stream.name)
        elif stream.has_parts:
            yield CountReason.HAS_PARTS(stream.name)
        elif _slack(stream) is None:
            yield CountReason.WINDOW_END_UNKNOWN(stream.event_time, stream.name)


def _not_allowed(query: Query, made: Rewriting) -> Reason | None:
    """Why the error is not allowed, if it is not."""
    if made.is_exact:
        return None
    allowed = query.hints.error
    if allowed is None:
        return CountReason.NO_ERROR_ALLOWED()
    if boundary(made.reach, made.period) > Fraction(allowed.percent) / 100:
        return CountReason.ERROR_ALLOWED(f"{allowed.percent.normalize():f}")
    return None


def _reasons(question: CountQuestion, composed: Composed) -> Iterator[Reason]:
    """What was found, for each rule that was used."""
    name = ", ".join(composed.identity[question.root])
    yield CountReason.BY_IDENTITY(name)
    others = [alias for alias in question.joined if alias != composed.counted]
    if others:
        yield (CountReason.AS_MANY_AS(composed.counted, others, composed.counted))
    if composed.removed:
        several = len(composed.removed) > 1
        differs = CountReason.DIFFERENCE_OF_SEVERAL if several else CountReason.DIFFERENCE
        yield differs(composed.removed, composed.counted)
