"""The slow reference: the full-history join, straight from DESIGN sections 2 and 3.

It keeps every row for ever, tries every combination, and files each result under the batch in which its last row
arrived. It knows nothing of promises, plans, segments or hashes: only the query, the rows, and the batch in which
each arrived. So whatever the core outputs in a step must be the bag that the reference has filed under that batch, no
row more, none less.

`Keeper` says whether a row may come next on streams that keep their declarations; the generators ask it before they
add one. It too is a transcription of the definitions, over the full history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.model.clauses import RangeWindow, RowsWindow, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, Difference, NoneOf, Op
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Cooccurs, Follows, Ordered, PrimaryKey, Punctuated
from penstock.model.spans import Rows, Span
from penstock.model.stream import Stream

_HOLDS = {
    Op.EQ: lambda a, b: a == b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Arrived:
    """A row, the batch it came in, and its place on its stream."""

    batch: int
    place: int
    values: dict[str, Any]


History = dict[str, list[Arrived]]
"""By stream, in order of arrival."""


@dataclass(frozen=True)
class Punctuation:
    """A punctuation row: its batch, the data rows before it, its values, the schemes whose WHEN it meets."""

    batch: int
    place: int
    values: dict[str, Any]
    schemes: tuple[Punctuated, ...]

    def makes(self, scheme: Punctuated) -> bool:
        """Whether it makes a promise of the scheme: a NULL in an ON column promises nothing."""
        timed = scheme.lifespan is None or self.values["ts"] is not None
        return scheme in self.schemes and timed and all(self.values[c] is not None for c in scheme.columns)


Punctuations = dict[str, list[Punctuation]]
"""By stream, in order of arrival."""


def ticks(value: Any) -> int:
    """An event time as a number of ticks; the tests use integers and microseconds."""
    return value if isinstance(value, int) else round(value.timestamp() * 1_000_000)


def answer(query: Query, history: History) -> dict[int, Counter[tuple[Any, ...]]]:
    """The results by the batch in which they come out; a result is its output columns."""
    found: dict[int, Counter[tuple[Any, ...]]] = {}
    for combination in combinations(query, history, {}):
        if in_windows(query, history, combination):
            refs = [ref for output in query.outputs for ref in columns_of(output.value)]
            row = tuple(combination[ref.alias].values[ref.column] for ref in refs)
            batch = max(arrived.batch for arrived in combination.values())
            found.setdefault(batch, Counter())[row] += 1
    return found


def combinations(query: Query, history: History, bound: dict[str, Arrived]) -> Iterator[dict[str, Arrived]]:
    """All rows that agree, one of each source; windows are not looked at."""
    if len(bound) == len(query.sources):
        yield dict(bound)
        return
    source = query.sources[len(bound)]
    for arrived in history[source.stream.name]:
        bound[source.alias] = arrived
        if _agree(query, bound, source.alias):
            yield from combinations(query, history, bound)
        del bound[source.alias]


def _agree(query: Query, bound: dict[str, Arrived], newest: str) -> bool:
    def value(ref: ColumnRef) -> Any:
        return bound[ref.alias].values[ref.column]

    for predicate in query.predicates:
        aliases = {ref.alias for ref in predicate.columns}
        if newest not in aliases or not aliases <= set(bound):
            continue
        values = [value(ref) for ref in predicate.columns]
        if any(v is None for v in values):
            return False
        match predicate:
            case Comparison(op=op):
                holds = _HOLDS[op](*values)
            case Difference(op=op, span=span):
                holds = _HOLDS[op](ticks(values[0]) - ticks(values[1]), span.ticks)
            case Bound(op=op, constant=constant):
                holds = _HOLDS[op](values[0], constant.value)
            case NoneOf(constants=constants):
                holds = all(values[0] != constant.value for constant in constants)
            case _:
                raise NotImplementedError(predicate)
        if not holds:
            return False
    return True


def in_windows(query: Query, history: History, combination: dict[str, Arrived]) -> bool:
    """Whether rows that agree are in all windows."""
    rank = {name: n for n, name in enumerate(dict.fromkeys(s.stream.name for s in query.sources))}
    stream_of = {s.alias: s.stream.name for s in query.sources}

    def moment(alias: str) -> tuple[int, int, int]:
        """Rows of a batch arrive stream after stream in the order of FROM."""
        return combination[alias].batch, rank[stream_of[alias]], combination[alias].place

    last = max(moment(alias) for alias in combination)
    if any(isinstance(s.window, RangeWindow) for s in query.sources):
        times = {
            s.alias: combination[s.alias].values[s.stream.event_time]
            for s in query.sources
            if s.stream.event_time is not None
        }
        if any(time is None for time in times.values()):
            return False
        latest = max(ticks(time) for time in times.values())
        for source in query.sources:
            window = source.window
            if isinstance(window, RangeWindow) and ticks(times[source.alias]) <= latest - window.span.ticks:
                return False
    for source in query.sources:
        if isinstance(source.window, RowsWindow):
            name = source.stream.name
            so_far = sum(1 for a in history[name] if (a.batch, rank[name], a.place) <= last)
            if combination[source.alias].place < so_far - source.window.count:
                return False
    return True


class Keeper:
    """Whether the next row keeps every declaration, given all rows before it."""

    def __init__(self, streams: tuple[Stream, ...]) -> None:
        self.streams = {s.name: s for s in streams}
        self.punctuations: Punctuations = {s.name: [] for s in streams}

    def allows(self, history: History, name: str, row: Arrived) -> bool:
        """Whether `row` may come next on the stream."""
        stream = self.streams[name]
        own = all(self._allows_own(history[name], scheme, row) for scheme in stream.schemes)
        promised = all(
            self._allows_punctuated(history, name, scheme, row)
            for scheme in stream.schemes
            if isinstance(scheme, Punctuated)
        )
        return (
            own
            and promised
            and all(
                self._allows_between(history, declaring, scheme, stream, row)
                for declaring in self.streams.values()
                for scheme in declaring.schemes
            )
        )

    def _allows_own(self, before: list[Arrived], scheme: object, row: Arrived) -> bool:
        match scheme:
            case PrimaryKey(columns=columns):
                key = [row.values[c] for c in columns]
                return None not in key and all([a.values[c] for c in columns] != key for a in before)
            case Ordered(column=column):
                value = row.values[column]
                seen = [a.values[column] for a in before]
                if value is None:
                    return True
                if isinstance(scheme.slack, Span):
                    return all(ticks(v) - scheme.slack.ticks <= ticks(value) for v in seen if v is not None)
                assert isinstance(scheme.slack, Rows)
                # Values with at least k arrivals after them may not be undercut.
                settled = seen[: max(0, len(seen) - scheme.slack.count)]
                return all(v <= value for v in settled if v is not None)
            case Clustered(column=column):
                value = row.values[column]
                seen = [a.values[column] for a in before]
                assert isinstance(scheme.slack, Rows)
                if value is None or value not in seen:
                    return True
                return bool(sum(v != value for v in seen[seen.index(value) :]) <= scheme.slack.count)
            case _:
                return True

    def _allows_punctuated(self, history: History, name: str, scheme: Punctuated, row: Arrived) -> bool:
        """No row after its punctuation; or, its LIFESPAN over, none that meets a row from before."""
        values = [row.values[c] for c in scheme.columns]
        for punctuation in self.punctuations[name]:
            if punctuation.makes(scheme) and values == [punctuation.values[c] for c in scheme.columns]:
                over = self._over(history[name], self.streams[name], scheme, punctuation)
                if over is None:
                    return False
                before = [a for rows in history.values() for a in rows if a.batch < over]
                # More careful than need be: whatever column carries one of the values.
                if any(value in (a.values["a"], a.values["b"]) for a in before for value in values):
                    return False
        return True

    def _over(self, rows: list[Arrived], stream: Stream, scheme: Punctuated, punctuation: Punctuation) -> int | None:
        """The batch in which the low of the stream passed the end of a punctuation's life; None if it has not."""
        orders = [s.slack for s in stream.schemes if isinstance(s, Ordered) and s.column == stream.event_time]
        if scheme.lifespan is None or len(orders) != 1 or not isinstance(orders[0], Span):
            return None
        end = ticks(punctuation.values["ts"]) + scheme.lifespan.ticks
        passed = [a.batch for a in rows if a.values["ts"] is not None and ticks(a.values["ts"]) - orders[0].ticks > end]
        return max(punctuation.batch, min(passed)) if passed else None

    def _allows_between(
        self, history: History, declaring: Stream, scheme: object, stream: Stream, row: Arrived
    ) -> bool:
        if isinstance(scheme, Follows):
            other, own_columns, other_columns = scheme.parent, scheme.columns, scheme.parent_columns
        elif isinstance(scheme, Cooccurs):
            other, own_columns, other_columns = scheme.other, scheme.columns, scheme.other_columns
        else:
            return True
        if not isinstance(scheme, Follows) or isinstance(scheme.slack, Span):
            # What it says of the times of matches a row without one may break with any row to come.
            sides = [(declaring.name, own_columns), (other, other_columns)]
            keyed = any(name == stream.name and None not in [row.values[c] for c in columns] for name, columns in sides)
            if keyed and row.values[stream.event_time or ""] is None:
                return False
        pairs: list[tuple[Arrived, Arrived]] = []
        if stream.name == other:
            pairs += [(a, row) for a in history[declaring.name]] + ([(row, row)] if declaring is stream else [])
        if stream is declaring:
            pairs += [(row, b) for b in history[other]]
        for own, partner in pairs:
            key = [own.values[c] for c in own_columns]
            if None in key or key != [partner.values[c] for c in other_columns]:
                continue
            if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows):
                if partner is row and own is not row:
                    since = sum(1 for b in history[other] if b.batch > own.batch)
                    if row.batch > own.batch and since >= scheme.slack.count:
                        return False
                continue
            times = own.values[declaring.event_time or ""], partner.values[self.streams[other].event_time or ""]
            if None in times:
                return False
            apart = ticks(times[1]) - ticks(times[0])
            if isinstance(scheme, Follows):
                assert isinstance(scheme.slack, Span)
                if apart > scheme.slack.ticks:
                    return False
            elif scheme.window is not None:
                low, high = scheme.window.low, scheme.window.high
                if (low is not None and apart < low.ticks) or (high is not None and apart > high.ticks):
                    return False
        return True
