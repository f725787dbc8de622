"""A naive evaluator, written from DESIGN section 3 and from no module of the analyses.

It joins complete histories by nested loops, with three-valued logic, outer joins, EXISTS and [RANGE]; and it says
whether a history keeps its declarations, from DESIGN section 1. Event times are whole numbers. Slow, and plain to read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.clauses import RangeWindow
from penstock.model.predicates import Bound, Comparison, Difference, NoneOf, NullTest, OneOf, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, JoinKind, Leaf, leaves
from penstock.model.schemes import Check, Clustered, Cooccurs, Follows, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Auto, Rows, Span, Within
from penstock.model.stream import Stream

Row = tuple[tuple[str, int | None], ...]
"""A row as pairs of column and value."""


@dataclass(frozen=True)
class Arrival:
    """A row that arrived on a stream; equal rows are kept apart by their number."""

    stream: str
    number: int
    row: Row

    def value(self, column: str) -> int | None:
        return dict(self.row)[column]


Combined = dict[str, Arrival | None]
History = Sequence[Arrival]


def compare(left: int | None, op: Op, right: int | None) -> bool:
    """SQL's comparison where unknown counts as false."""
    if left is None or right is None:
        return False
    return {Op.EQ: left == right, Op.LT: left < right, Op.LE: left <= right, Op.GT: left > right, Op.GE: left >= right}[
        op
    ]


def holds(predicate: Predicate, combined: Combined) -> bool:
    """Whether a predicate is true of a combination; an absent tuple has NULLs."""

    def value(alias: str, column: str) -> int | None:
        arrival = combined[alias]
        return None if arrival is None else arrival.value(column)

    match predicate:
        case Comparison(left=left, op=op, right=right):
            return compare(value(left.alias, left.column), op, value(right.alias, right.column))
        case Bound(column=column, op=op, constant=constant):
            assert isinstance(constant.value, int)
            return compare(value(column.alias, column.column), op, constant.value)
        case OneOf(column=column, constants=constants):
            return value(column.alias, column.column) in {c.value for c in constants}
        case NoneOf(column=column, constants=constants):
            return value(column.alias, column.column) not in {None, *(c.value for c in constants)}
        case Difference(minuend=left, subtrahend=right, op=op, span=span):
            first, second = value(left.alias, left.column), value(right.alias, right.column)
            return first is not None and second is not None and compare(first - second, op, span.ticks)
        case NullTest(column=column, is_null=is_null):
            return (value(column.alias, column.column) is None) is is_null
        case _:
            raise NotImplementedError(predicate)


def in_windows(query: Query, combined: Combined) -> bool:
    """[RANGE d]: each windowed tuple lies less than d before the latest of those that are there."""
    there = [(query.by_alias[alias], arrival) for alias, arrival in combined.items() if arrival is not None]
    times = {s.alias: a.value(s.stream.event_time) for s, a in there if s.stream.event_time is not None}
    if any(isinstance(s.window, RangeWindow) for s in query.all_sources) and None in times.values():
        return False
    latest = max((t for t in times.values() if t is not None), default=0)
    for source, _ in there:
        time = times.get(source.alias)
        if isinstance(source.window, RangeWindow) and time is not None and time <= latest - source.window.span.ticks:
            return False
    return True


@dataclass(frozen=True)
class Forgotten:
    """A row that an engine let go under an alias: what it met stays, and it meets none of the rows that came later."""

    alias: str
    row: Arrival
    later: frozenset[Arrival]

    def allows(self, combined: Combined) -> bool:
        return combined.get(self.alias) != self.row or self.later.isdisjoint(combined.values())


def is_punctuation(stream: Stream, arrival: Arrival) -> bool:
    """Whether a row satisfies the WHEN of some scheme: it is no data then."""
    return any(makes(scheme, arrival) for scheme in stream.schemes if isinstance(scheme, Punctuated))


def makes(scheme: Punctuated, arrival: Arrival) -> bool:
    """Whether a row is a punctuation of one scheme."""
    return all(holds(p, {"": arrival}) for p in scheme.when)


class Evaluator:
    """The answer of a query over a history, by nested loops."""

    def __init__(self, query: Query, history: History, forgotten: Forgotten | None = None) -> None:
        self._query = query
        streams = {source.stream.name: source.stream for source in query.all_sources}
        self._history = [a for a in history if a.stream not in streams or not is_punctuation(streams[a.stream], a)]
        self._forgotten = forgotten

    def answer(self) -> Counter[tuple[tuple[str, Arrival | None], ...]]:
        """The bag of combinations in the answer, each as pairs of alias and tuple."""
        found: Counter[tuple[tuple[str, Arrival | None], ...]] = Counter()
        for combined in self._rows(self._query.tree):
            if not all(holds(p, combined) for p in self._query.where):
                continue
            if all(self._exists(existence, combined) != existence.negated for existence in self._query.existences):
                found[tuple(sorted(combined.items()))] += 1
        return found

    def _match(self, on: Sequence[Predicate], both: Combined) -> bool:
        if self._forgotten is not None and not self._forgotten.allows(both):
            return False
        return all(holds(p, both) for p in on) and in_windows(self._query, both)

    def _exists(self, existence: Existence, combined: Combined) -> bool:
        return any(
            self._match(existence.condition, {**combined, existence.source.alias: arrival})
            for arrival in self._history
            if arrival.stream == existence.source.stream.name
        )

    def _rows(self, tree: FromTree) -> Iterator[Combined]:
        if isinstance(tree, Leaf):
            name = self._query.by_alias[tree.alias].stream.name
            for arrival in self._history:
                if arrival.stream == name:
                    yield {tree.alias: arrival}
            return
        left, right = list(self._rows(tree.left)), list(self._rows(tree.right))
        matched_right = set()
        for one in left:
            matched = False
            for index, other in enumerate(right):
                both = {**one, **other}
                if self._match(tree.on, both):
                    matched = True
                    matched_right.add(index)
                    yield both
            if not matched and tree.kind in (JoinKind.LEFT, JoinKind.FULL):
                yield {**one, **dict.fromkeys(leaves(tree.right))}
        if tree.kind in (JoinKind.RIGHT, JoinKind.FULL):
            for index, other in enumerate(right):
                if index not in matched_right:
                    yield {**dict.fromkeys(leaves(tree.left)), **other}


LEARNED = 1
"""The k that AUTO stands for in these histories."""


def rows_of(within: Within) -> int:
    """A k in rows."""
    if isinstance(within, Auto):
        return LEARNED
    assert isinstance(within, Rows)
    return within.count


def keeps_promises(streams: Sequence[Stream], history: History) -> bool:
    """Whether a history, in its order of arrival, keeps every declaration."""
    named = {stream.name: stream for stream in streams}
    data = [a for a in history if not is_punctuation(named[a.stream], a)]
    return all(
        _keeps_punctuations(stream, scheme, history)
        if isinstance(scheme, Punctuated)
        else _keeps(stream, scheme, data, streams)
        for stream in streams
        for scheme in stream.schemes
    )


def _keeps_punctuations(stream: Stream, scheme: Punctuated, history: History) -> bool:
    """No data row agrees with a punctuation that came before it; a NULL in one promises nothing."""
    closed: list[list[int | None]] = []
    for arrival in history:
        if arrival.stream != stream.name:
            continue
        values = [arrival.value(column) for column in scheme.columns]
        if is_punctuation(stream, arrival):
            if makes(scheme, arrival) and None not in values:
                closed.append(values)
        elif values in closed:
            return False
    return True


def _keeps(stream: Stream, scheme: Scheme, history: History, streams: Sequence[Stream]) -> bool:
    own = [a for a in history if a.stream == stream.name]
    match scheme:
        case PrimaryKey(columns=columns):
            keys = [tuple(a.value(c) for c in columns) for a in own]
            return len(set(keys)) == len(keys)
        case Ordered(column=column):
            return _is_ordered([a.value(column) for a in own], scheme.slack)
        case Clustered(column=column):
            return _is_clustered([a.value(column) for a in own], rows_of(scheme.slack))
        case Follows(parent=parent):
            return all(_follows(s, t, scheme, history, streams) for s in own for t in history if t.stream == parent)
        case Check(condition=condition):
            return not any(_breaks(p, a) for p in condition for a in own)
        case Cooccurs(window=window) if window is not None:
            for s in own:
                for t in history:
                    if t.stream == scheme.other and _agree(s, scheme.columns, t, scheme.other_columns):
                        apart = _apart(s, t, streams)
                        low, high = window.low, window.high
                        if (low is not None and apart < low.ticks) or (high is not None and apart > high.ticks):
                            return False
            return True
        case _:
            return True


def _breaks(condition: Predicate, arrival: Arrival) -> bool:
    """CHECK fails only on false, and a NULL makes a comparison unknown."""
    is_known = all(arrival.value(ref.column) is not None for ref in condition.columns)
    return is_known and not holds(condition, {"": arrival})


def _is_ordered(values: list[int | None], slack: Within) -> bool:
    for index, value in enumerate(values):
        before = values[:index]
        if isinstance(slack, Span):
            closing = [v - slack.ticks for v in before if v is not None]
        else:
            k = rows_of(slack)
            closing = [v for place, v in enumerate(before) if v is not None and index - 1 - place >= k]
        if value is not None and closing and value < max(closing):
            return False
    return True


def _is_clustered(values: list[int | None], k: int) -> bool:
    """A value does not come again once more than k of others followed its first; a NULL differs from every value."""
    for index, value in enumerate(values):
        if value is not None and value in values[:index]:
            first = values.index(value)
            if sum(1 for other in values[first + 1 : index] if other != value) > k:
                return False
    return True


def _follows(s: Arrival, t: Arrival, scheme: Follows, history: History, streams: Sequence[Stream]) -> bool:
    if not _agree(s, scheme.columns, t, scheme.parent_columns):
        return True
    if isinstance(scheme.slack, Span):
        return _apart(s, t, streams) <= scheme.slack.ticks
    start, end = history.index(s), history.index(t)
    between = sum(1 for a in history[start + 1 : end] if a.stream == scheme.parent)
    return end <= start or between < rows_of(scheme.slack)


def _agree(s: Arrival, own: tuple[str, ...], t: Arrival, other: tuple[str, ...]) -> bool:
    return all(compare(s.value(a), Op.EQ, t.value(b)) for a, b in zip(own, other, strict=True))


def _apart(s: Arrival, t: Arrival, streams: Sequence[Stream]) -> int:
    clock = {stream.name: stream.event_time for stream in streams}
    own, other = clock[s.stream], clock[t.stream]
    assert own is not None
    assert other is not None
    first, second = s.value(own), t.value(other)
    assert first is not None
    assert second is not None
    return second - first
