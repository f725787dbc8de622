"""Grouping and aggregation in bounded memory (MEMORY, Theorems 8.3 to 8.6, with the erratum to 8.6).

The groups are part of the state: a group column that is endless violates C1. Then, for each aggregate by itself, since
a query of several is bounded iff each alone is:

- count(DISTINCT x) and median(x) keep the values of x: if x is endless, C2 is violated.
- count, sum, avg, median need the join to be bounded as a bag; min, max, count(DISTINCT) as DISTINCT (Theorem 8.6, C1:
  the reduced characteristic query). Sums and counts of an endless column are pushed below the join. The theorem does
  not hold where nothing depends on how often a result is found though the paper says so: the mean and the median of a
  column that has one value in each group, and the sum of zeros. These need the join as DISTINCT only. Nor does a mean
  or a median depend on how many rows of sources that nothing ties to its own are found: they multiply all its values
  alike (`AVG(t.a)` with `s.a > u.a`, and t joined with neither). A group column ties nothing either: it has one value
  in the group. Where only such a source fails as a bag, that is a doubt and not a violation.
- max(x), x an endless column of S, in an LTO: the paper asks that MaxRef(S) be empty or x's class. MinRef(S) must be
  empty too: with `s.a < t.b` every set of values of a must be told apart for max(s.a). min likewise, with the roles
  exchanged. Without enumerating: a comparison `d < b` that is active together with x is harmless to max(x) iff
  `d <= x` and `x <= b` are both in P+, for then it is redundant or b is x; else x < d or b < x is an LTO that
  violates the condition.

Preconditions: an aggregate of an expression over one stream is worked out as a row arrives. Not decided: one over
several streams, and the extremes of an expression, where its columns are endless.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.facts.values import Interval
from penstock.analysis.memory.failed_conditions import FailedCondition, Placement, SourceComparison, active, stretches
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.analysis.reasons import Told
from penstock.model.clauses import COLLECTS, PICKS, TOP, VARIANCES, Aggregate
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.predicates import Comparison, Op
from penstock.records import record


@record
class OpenQuestion:
    """What keeps a query from being called bounded though no condition is shown to fail."""

    because: Told
    barred: tuple[str, ...] = ()
    """The sources whose rows are not known to merge."""


def is_holistic(aggregate: Aggregate) -> bool:
    """Whether it needs the values themselves."""
    return aggregate.tells_apart


def counts_duplicates(aggregate: Aggregate, reading: MemoryReading, order: Order) -> bool:
    """Whether it matters how often a result is found."""
    argument = aggregate.argument
    match aggregate.function:
        case "min" | "max":
            return False
        case "count":
            return not aggregate.distinct
        case "sum" if isinstance(argument, ColumnRef) and order.line(argument).has_steps:
            return order.reach(argument) != Interval(0, 0)
        case "avg" | "median" if isinstance(argument, ColumnRef):
            return order.values(argument) != 1 and not has_one_value_in_a_group(argument, reading, order)
        case _:
            return True


def multiplies_alike(aggregate: Aggregate, alias: str, reading: MemoryReading, order: Order) -> bool:
    """Whether it cannot matter to the aggregate how many rows of a source a result is found with."""
    argument = aggregate.argument
    if not counts_duplicates(aggregate, reading, order):
        return True
    if aggregate.function not in ("avg", "median") or not isinstance(argument, ColumnRef):
        return False
    return alias not in _tied_to(argument.alias, reading, order)


def _tied_to(alias: str, reading: MemoryReading, order: Order) -> frozenset[str]:
    """The sources that comparisons tie to one, directly or not; one that always holds ties nothing."""
    pairs = [frozenset(ref.alias for ref in c.columns) for c, _ in reading.joins if not _is_settled(c, reading, order)]
    pairs += [frozenset(ref.alias for ref in difference.columns) for difference, _ in reading.bands]
    tied = frozenset((alias,))
    while more := [pair for pair in pairs if pair & tied and not pair <= tied]:
        tied = tied.union(*more)
    return tied


def has_one_value_in_a_group(ref: ColumnRef, reading: MemoryReading, order: Order) -> bool:
    """Whether it is a group column, or equal to one."""
    return any(value in order.equal_to(ref) for value in reading.query.sure_keys if isinstance(value, ColumnRef))


def _is_settled(comparison: Comparison, reading: MemoryReading, order: Order) -> bool:
    left, right = comparison.left, comparison.right
    if any(order.values(ref) == 1 or has_one_value_in_a_group(ref, reading, order) for ref in (left, right)):
        return True  # a filter, not a tie; if it were one, doubting it is the safe side
    if comparison.op is Op.EQ:
        return False
    low, high = (left, right) if comparison.op in (Op.LT, Op.LE) else (right, left)
    return order.reach(low).high <= order.reach(high).low


def aggregate_violations(
    aggregate: Aggregate, edges: tuple[SourceComparison, ...], order: Order, *, every: bool = False
) -> Iterator[FailedCondition | OpenQuestion]:
    """What one aggregate asks beyond the join."""
    most = None if every else 1
    match aggregate.argument:
        case None:
            return
        case _ if aggregate.function in (TOP, *VARIANCES, *PICKS, *COLLECTS, "percentile") or aggregate.more:
            # Of a row that is not among the first nothing is needed any more, nor of one that is not picked, and
            # variances need no more than moments: what that, or lists, leave of the rows is not looked at here.
            yield OpenQuestion(MemoryReason.MAKES_UNKNOWN(aggregate), tuple(ref.alias for ref in aggregate.columns))
        case Expression() as expression:
            yield from _of_expression(aggregate, expression, edges, order)
        case ColumnRef() as ref if is_holistic(aggregate):
            for stretch in order.endless(ref)[:most]:
                yield FailedCondition(
                    "C2",
                    MemoryReason.NEEDS_EVERY_VALUE(aggregate, ref),
                    ref.alias,
                    (ref.alias,),
                    ((ref, Placement(stretch)),),
                    MemoryReason.MAY_REPEAT(aggregate),
                )
        case ColumnRef() as ref if aggregate.function in ("min", "max"):
            yield from islice(_of_extreme(aggregate, ref, edges, order), most)
        case _:
            return


def _of_expression(
    aggregate: Aggregate, expression: Expression, edges: tuple[SourceComparison, ...], order: Order
) -> Iterator[OpenQuestion]:
    aliases = tuple(dict.fromkeys(ref.alias for ref in expression.columns))
    endless = [str(ref) for ref in expression.columns if order.endless(ref)]
    if not endless and expression.deterministic:
        return
    is_compared = any([*active(edges, order, alias, above)] for alias in aliases for above in (True, False))
    if len(aliases) > 1 or is_holistic(aggregate) or (aggregate.function in ("min", "max") and is_compared):
        yield OpenQuestion(
            MemoryReason.MAKES_OF(aggregate, endless) if endless else MemoryReason.MAKES_UNKNOWN(aggregate), aliases
        )


def _of_extreme(
    aggregate: Aggregate, ref: ColumnRef, edges: tuple[SourceComparison, ...], order: Order
) -> Iterator[FailedCondition]:
    """C3: a comparison that asks for other rows than the extreme does."""
    wants_greatest = aggregate.function == "max"
    for own in order.endless(ref):
        for above in (True, False):
            for edge in active(edges, order, ref.alias, above):
                for stretch in stretches(order, edge):
                    if not order.admits([(ref, own), (edge.low, stretch), (edge.high, stretch)]):
                        continue
                    for rungs in _rungs(order, ref, own, edge, stretch, with_it=above == wants_greatest):
                        yield FailedCondition(
                            "C3",
                            MemoryReason.ASK_FOR_DIFFERENT(aggregate, edge.text, ref.alias),
                            ref.alias,
                            (ref.alias,),
                            tuple(dict(rungs).items()),
                            MemoryReason.MATCH_TELLS_WHICH(edge.text, aggregate),
                        )


def _rungs(
    order: Order, ref: ColumnRef, own: Interval, edge: SourceComparison, stretch: Interval, *, with_it: bool
) -> Iterator[list[tuple[ColumnRef, Placement]]]:
    """How to place the extreme's column and the comparison against each other; nothing if they agree."""
    ends = (edge.low, edge.high)
    if own != stretch:
        yield [*((end, Placement(stretch, falling=with_it)) for end in ends), (ref, Placement(own))]
        return
    if not with_it:
        yield [(ref, Placement(own)), *((end, Placement(stretch)) for end in ends)]
    if not order.below(edge.low, ref):
        yield [(ref, Placement(own, half=0)), *((end, Placement(stretch, falling=with_it, half=1)) for end in ends)]
    if not order.below(ref, edge.high):
        yield [(ref, Placement(own, half=1)), *((end, Placement(stretch, falling=with_it, half=0)) for end in ends)]
