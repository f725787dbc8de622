"""C1, C2 and C3 without enumerating the locally totally ordered queries (MEMORY, Theorems 5.3, 5.6, 5.10, section 6).

A locally totally ordered query (LTO) puts every column of a stream into one stretch of its line and orders those of
one stretch. What follows is what some LTO of the query violates; P is the query's predicate, a *comparison* is one
between two streams, and all columns named lie in endless stretches that P admits at once.

- C1: a column of the result is endless.
- C2: columns of two streams that are equal in P+ are endless.
- C3, bag: a comparison `x < y` or `x <= y` has both columns in one stretch. (Between x and y there is then one that
  is not redundant: what lies between them lies in the same stretch, and somewhere the streams change.)
- C3, DISTINCT, stream S: one comparison has a column of S below, another has one of S above (MinRef and MaxRef are
  both filled); or two, `d < a` and `e < b`, have columns a, b of S above and `e <= a` is not in P+. For then a < e < b
  is an LTO, where `e < b` is not redundant and what makes MaxRef there is not a's class. If `e <= a` is in P+ for all
  such pairs, then in each LTO where a < b every `e < b` is redundant, so one class remains. Below likewise.

An LTO that makes two streams' columns equal by local orders alone (`a <= d <= b` with a = b) violates C3 too, so C2
need look at P+ only. Pairs of comparisons replace the paper's four-attribute queries: the check is quadratic in them.

A bag query over one stream skips C1; DISTINCT over one stream has C1 only. `barred` names the streams whose rows
cannot be merged; the rest can be, whatever the others do, since a synopsis stands for its stream alone. One violation
is found for each thing that fails; `every` finds each place where it does, for an input may grow in one of them only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, product

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.facts.values import FAR, Interval
from penstock.analysis.memory.lines import Line
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.analysis.reasons import Reason
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Op
from penstock.records import record


@record
class Placement:
    """Where the c-th of N rows stands in an endless stretch: upwards or downwards, in all of it or in one half."""

    stretch: Interval
    falling: bool = False
    half: int | None = None
    """0 is the lower half, 1 the upper."""
    still: bool = False
    """Whether all rows stand at the least value there."""


@record
class FailedCondition:
    """A condition that fails, and how to make an input of it."""

    condition: str
    text: Reason
    grows: str
    """The source whose rows must be remembered."""
    barred: tuple[str, ...]
    """The sources whose rows cannot be merged for it."""
    rungs: tuple[tuple[ColumnRef, Placement], ...]
    forced: Reason
    """What makes it impossible to forget a row."""

    @property
    def named(self) -> Reason:
        """With the name of the condition."""
        return MemoryReason.CONDITION(self.condition, self.text)


@record
class SourceComparison:
    """A comparison between two sources: `low <= high` or `low < high`."""

    low: ColumnRef
    high: ColumnRef
    text: str

    def end(self, above: bool) -> ColumnRef:
        """One end."""
        return self.high if above else self.low


def edges_of(reading: MemoryReading) -> tuple[SourceComparison, ...]:
    """The comparisons between sources that are no equality, each once."""
    found: dict[tuple[ColumnRef, ColumnRef], SourceComparison] = {}
    for comparison, text in reading.joins:
        if comparison.op is not Op.EQ:
            up = comparison.op in (Op.LT, Op.LE)
            low, high = (comparison.left, comparison.right) if up else (comparison.right, comparison.left)
            found.setdefault((low, high), SourceComparison(low, high, text))
    return tuple(found.values())


def endless_column(
    order: Order, ref: ColumnRef, role: MemoryReason, forced: Reason, *, every: bool = False
) -> Iterator[FailedCondition]:
    """C1, for one column of the result."""
    for stretch in order.endless(ref)[: None if every else 1]:
        text = role(ref, unlimited(order.line(ref), stretch, "it"))
        yield FailedCondition("C1", text, ref.alias, (ref.alias,), ((ref, Placement(stretch)),), forced)


def equal_and_endless(reading: MemoryReading, order: Order, *, every: bool = False) -> Iterator[FailedCondition]:
    """C2: one violation for each class of columns."""
    seen: set[ColumnRef] = set()
    for comparison, text in reading.joins:
        members = order.equal_to(comparison.left)
        aliases = tuple(dict.fromkeys(ref.alias for ref in members))
        if comparison.right not in members or members[0] in seen:
            continue
        seen.add(members[0])
        grows = aliases if every else (comparison.left.alias,)
        for stretch, alias in product(order.endless(members[0])[: None if every else 1], grows):
            texts = dict.fromkeys(t for c, t in reading.joins if c.left in members and c.right in members)
            names = tuple(dict.fromkeys((comparison.left, comparison.right)))
            yield FailedCondition(
                "C2",
                MemoryReason.JOINS(tuple(texts), names, unlimited(order.line(members[0]), stretch, "them")),
                alias,
                aliases,
                ((comparison.left, Placement(stretch)),),
                MemoryReason.MAY_MATCH_ANY(text),
            )


def compared_in_one_stretch(
    edges: tuple[SourceComparison, ...], order: Order, *, every: bool = False
) -> Iterator[FailedCondition]:
    """C3 of Theorem 5.6: one violation for each comparison."""
    for edge in edges:
        if edge.high in order.equal_to(edge.low):
            continue
        line = order.line(edge.low)
        grows = (edge.low.alias, edge.high.alias) if every else (edge.low.alias,)
        for stretch, alias in product(stretches(order, edge)[: None if every else 1], grows):
            rung = Placement(stretch)
            yield FailedCondition(
                "C3",
                MemoryReason.COMPARES(edge.text, edge.low, edge.high, unlimited(line, stretch, "them")),
                alias,
                (edge.low.alias, edge.high.alias),
                ((edge.low, rung), (edge.high, rung)),
                MemoryReason.MATCHES_TELL_APART(edge.text),
            )


def extremes_in_conflict(
    reading: MemoryReading, edges: tuple[SourceComparison, ...], order: Order, *, every: bool = False
) -> Iterator[FailedCondition]:
    """C3 of Theorem 5.10: one violation for each stream."""
    for alias in reading.query.by_alias:
        found = chain(_both_ways(edges, order, alias), _two_of_one_kind(edges, order, alias))
        yield from islice(found, None if every else 1)


def _both_ways(edges: tuple[SourceComparison, ...], order: Order, alias: str) -> Iterator[FailedCondition]:
    """MinRef and MaxRef are both filled."""
    upper = list(active(edges, order, alias, above=True))
    for least in active(edges, order, alias, above=False) if upper else ():
        for greatest in upper:
            for one, other in placements(order, least, greatest):
                sides: tuple[tuple[int | None, int | None], ...] = ((None, None), (0, 1), (1, 0))
                for half, opposite in sides[: 3 if one == other else 1]:
                    rungs = [(ref, Placement(one, half=half)) for ref in (least.low, least.high)]
                    rungs += [(ref, Placement(other, half=opposite)) for ref in (greatest.low, greatest.high)]
                    yield _conflict(alias, least, greatest, rungs)


def _two_of_one_kind(edges: tuple[SourceComparison, ...], order: Order, alias: str) -> Iterator[FailedCondition]:
    """MaxRef, or MinRef, has two classes."""
    for above in (True, False):
        found = list(active(edges, order, alias, above))
        conflicts: dict[tuple[ColumnRef, tuple[Interval, ...]], list[SourceComparison]] = {}
        for near in found:
            # What is in conflict with one is so with every other that has the same column in the same stretches.
            key = near.end(above), stretches(order, near)
            if key not in conflicts:
                conflicts[key] = list(_not_settled_by(order, near, found, above))
            for far in conflicts[key]:
                for one, other in placements(order, near, far):
                    if not _stands_beyond(order, near, far, above, one == other):
                        continue
                    if one != other:
                        halves: tuple[int | None, int | None] = (None, None)
                    else:
                        halves = (0, 1) if above else (1, 0)
                    rungs = [(ref, Placement(one, half=halves[0])) for ref in (near.low, near.high)]
                    rungs += [(ref, Placement(other, falling=True, half=halves[1])) for ref in (far.low, far.high)]
                    yield _conflict(alias, near, far, rungs)


def _not_settled_by(
    order: Order, near: SourceComparison, edges: list[SourceComparison], above: bool
) -> Iterator[SourceComparison]:
    """The comparisons that can be in conflict with one: not in one stretch by P+, and not in one stretch only."""
    here = set(stretches(order, near))
    settled: dict[ColumnRef, bool] = {}
    for far in edges:
        other = far.end(not above)
        if other not in settled:
            settled[other] = not _stands_beyond(order, near, far, above, same_stretch=True)
        if not settled[other] or len(here.union(stretches(order, far))) > 1:
            yield far


def _stands_beyond(
    order: Order, near: SourceComparison, far: SourceComparison, above: bool, same_stretch: bool
) -> bool:
    """Whether the stream's column of `near` can lie this side of the other stream's column of `far`."""
    own, other = near.end(above), far.end(not above)
    if same_stretch:
        return not (order.below(other, own) if above else order.below(own, other))
    return own != far.end(above)


def active(edges: tuple[SourceComparison, ...], order: Order, alias: str, above: bool) -> Iterator[SourceComparison]:
    """The comparisons in which a stream stands above, or below, and which some endless stretch holds."""
    for edge in edges:
        if edge.end(above).alias == alias and any(stretches(order, edge)):
            yield edge


def stretches(order: Order, edge: SourceComparison) -> tuple[Interval, ...]:
    """The endless stretches that can hold both columns of a comparison."""
    return order.both_endless(edge.low, edge.high)


def placements(order: Order, first: SourceComparison, second: SourceComparison) -> Iterator[tuple[Interval, Interval]]:
    """The endless stretches that can hold two comparisons at once."""
    for one in stretches(order, first):
        for other in stretches(order, second):
            pins = [(first.low, one), (first.high, one), (second.low, other), (second.high, other)]
            if order.admits(pins):
                yield one, other


def _conflict(
    alias: str, first: SourceComparison, second: SourceComparison, rungs: list[tuple[ColumnRef, Placement]]
) -> FailedCondition:
    texts = list(dict.fromkeys((first.text, second.text)))
    return FailedCondition(
        "C3",
        MemoryReason.OF_DIFFERENT_ROWS(texts, alias),
        alias,
        (alias,),
        tuple(dict(rungs).items()),
        MemoryReason.MATCH_NO_OTHER(texts),
    )


def unlimited(line: Line, stretch: Interval, which: str) -> Reason:
    """What is missing to make a stretch finite."""
    if not line.points:
        return MemoryReason.UNLIMITED(which)
    if not line.has_steps:
        return MemoryReason.ONLY_EQUALITY(which)
    return MemoryReason.UNLIMITED_FROM(which, "below" if stretch.low == -FAR else "above")
