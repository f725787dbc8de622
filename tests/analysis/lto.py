"""MEMORY by its definitions: every locally totally ordered query is asked Theorems 5.6, 5.10, 8.5 and 8.6.

Written from the paper and from no module of the analyses. A query is plain: columns are integers, conditions compare
two columns or a column and an integer. A local order gives each column of a stream a rank among the columns of its
stream and the constants. P+ of the query with all local orders is a closed matrix of differences over the integers:
`x < y` is `x - y <= -1`, so `a > 10 AND a < 11` is not satisfiable. `<=` is read as in the paper's remark: an
inequality `x <= y` is redundant if some other element lies between, and `x < y` if one lies between that is truly off
one end. Exponential, and plain to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

Element = str | int
"""A column such as `s.a`, or a constant."""
INFINITE = 10**6


@dataclass(frozen=True)
class Plain:
    """A query in the paper's language."""

    streams: Mapping[str, Sequence[str]]
    """The columns of each stream, as `s.a`."""
    conditions: Sequence[tuple[str, str, Element]]
    shown: Sequence[str]
    """The project list, or the grouping columns."""
    distinct: bool
    aggregates: Sequence[tuple[str, str]] = ()
    """Function and column."""


def is_bounded(query: Plain) -> bool:
    """Theorem 5.3: whether every derived LTO is bounded-memory computable."""
    return all(_keeps_conditions(query, closed) for closed in derived(query))


class Closed:
    """P+ of one LTO: the differences between elements."""

    def __init__(self, elements: Sequence[Element], apart: list[list[int]]) -> None:
        self.elements = elements
        self._place = {element: number for number, element in enumerate(elements)}
        self._apart = apart

    def at_most(self, low: Element, high: Element) -> int:
        return self._apart[self._place[low]][self._place[high]]

    def less(self, low: Element, high: Element) -> bool:
        return self.at_most(low, high) <= -1

    def less_or_equal(self, low: Element, high: Element) -> bool:
        return self.at_most(low, high) <= 0

    def equal(self, one: Element, other: Element) -> bool:
        return self.at_most(one, other) <= 0 and self.at_most(other, one) <= 0

    def is_bounded(self, column: str) -> bool:
        """Definition 4.5."""
        constants = [e for e in self.elements if isinstance(e, int)]
        upper = any(self.at_most(column, k) < INFINITE for k in constants)
        return upper and any(self.at_most(k, column) < INFINITE for k in constants)

    def is_redundant(self, low: Element, high: Element) -> bool:
        """Definition 4.1, with `<=`."""
        for middle in self.elements:
            if not (self.less_or_equal(low, middle) and self.less_or_equal(middle, high)):
                continue
            if self.equal(low, middle) or self.equal(middle, high):
                if isinstance(middle, int):
                    return True
                continue
            if not self.less(low, high) or self.less(low, middle) or self.less(middle, high):
                return True
        return False


def derived(query: Plain) -> Iterator[Closed]:
    """Definition 5.2: the LTO queries derived from a query, satisfiable ones only."""
    constants = sorted({e for _, _, e in query.conditions if isinstance(e, int)})
    elements: list[Element] = [*(c for columns in query.streams.values() for c in columns), *constants]
    local = []
    for columns in query.streams.values():
        every = _local_orders(columns, constants)
        local.append([order for order in every if _close(elements, _conditions(query, elements, [order])) is not None])
    for orders in product(*local):
        closed = _close(elements, _conditions(query, elements, orders))
        if closed is not None:
            yield Closed(elements, closed)


def _local_orders(columns: Sequence[str], constants: Sequence[int]) -> Iterator[dict[Element, int]]:
    """Every total order with ties of the columns and the constants; constants keep their own order."""
    names: list[Element] = [*columns, *constants]
    seen = set()
    for ranks in product(range(len(names)), repeat=len(columns)):
        for spread in product(range(len(names)), repeat=len(constants)):
            if list(spread) != sorted(set(spread)):
                continue
            used = sorted({*ranks, *spread})
            packed = tuple(used.index(rank) for rank in (*ranks, *spread))
            if packed not in seen:
                seen.add(packed)
                yield dict(zip(names, packed, strict=True))


def _conditions(
    query: Plain, elements: Sequence[Element], orders: Sequence[Mapping[Element, int]]
) -> Iterator[tuple[Element, Element, int]]:
    """`low - high <= gap` for each condition and each neighbouring pair of each local order."""
    for left, op, right in query.conditions:
        if op in ("<", "<=", "="):
            yield left, right, -1 if op == "<" else 0
        if op in (">", ">=", "="):
            yield right, left, -1 if op == ">" else 0
    constants = [e for e in elements if isinstance(e, int)]
    for k, other_k in product(constants, constants):
        yield k, other_k, k - other_k
    for order in orders:
        for one, other in product(order, order):
            if order[one] == order[other]:
                yield one, other, 0
            elif order[one] < order[other]:
                yield one, other, -1


def _close(elements: Sequence[Element], gaps: Iterator[tuple[Element, Element, int]]) -> list[list[int]] | None:
    place = {element: number for number, element in enumerate(elements)}
    count = len(elements)
    apart = [[0 if i == j else INFINITE * 2 for j in range(count)] for i in range(count)]
    for low, high, gap in gaps:
        row = apart[place[low]]
        row[place[high]] = min(row[place[high]], gap)
    for middle in range(count):
        through = apart[middle]
        for row in apart:
            first = row[middle]
            if first < INFINITE:
                for j in range(count):
                    row[j] = min(row[j], first + through[j])
    return None if any(apart[i][i] < 0 for i in range(count)) else apart


def _keeps_conditions(query: Plain, closed: Closed) -> bool:
    stream_of = {column: name for name, columns in query.streams.items() for column in columns}
    columns = list(stream_of)
    is_join = len(query.streams) > 1
    if query.aggregates:
        return _keeps_aggregates(query, closed, stream_of)
    if (is_join or query.distinct) and not all(closed.is_bounded(column) for column in query.shown):
        return False
    if not is_join:
        return True
    return _keeps_joins(closed, columns, stream_of, query.distinct)


def _keeps_joins(closed: Closed, columns: Sequence[str], stream_of: Mapping[str, str], distinct: bool) -> bool:
    """C2 and C3 of Theorem 5.6, or of Theorem 5.10."""
    for one, other in product(columns, columns):
        is_joined = stream_of[one] != stream_of[other] and closed.equal(one, other)
        if is_joined and not (closed.is_bounded(one) and closed.is_bounded(other)):
            return False
    for stream in dict.fromkeys(stream_of.values()):
        references = _max_ref(closed, stream_of, stream), _min_ref(closed, stream_of, stream)
        if not distinct and any(references):
            return False
        if sum(len(_classes(closed, found)) for found in references) > 1:
            return False
    return True


def _max_ref(closed: Closed, stream_of: Mapping[str, str], stream: str) -> list[str]:
    """Definition 5.4."""
    return [
        own
        for own in stream_of
        if stream_of[own] == stream
        and not closed.is_bounded(own)
        and any(
            stream_of[other] != stream
            and closed.less_or_equal(other, own)
            and not closed.equal(other, own)
            and not closed.is_redundant(other, own)
            for other in stream_of
        )
    ]


def _min_ref(closed: Closed, stream_of: Mapping[str, str], stream: str) -> list[str]:
    """Definition 5.4."""
    return [
        own
        for own in stream_of
        if stream_of[own] == stream
        and not closed.is_bounded(own)
        and any(
            stream_of[other] != stream
            and closed.less_or_equal(own, other)
            and not closed.equal(other, own)
            and not closed.is_redundant(own, other)
            for other in stream_of
        )
    ]


def _classes(closed: Closed, columns: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for column in columns:
        known = next((members for members in found if closed.equal(members[0], column)), None)
        if known is None:
            found.append([column])
        else:
            known.append(column)
    return found


def _is_fixed(query: Plain, function: str, column: str) -> bool:
    """Not in the paper: a mean or a median of one value in each group, and a sum of zeros, do not count duplicates."""
    constants = sorted({e for _, _, e in query.conditions if isinstance(e, int)})
    elements: list[Element] = [*(c for columns in query.streams.values() for c in columns), *constants]
    apart = _close(elements, _conditions(query, elements, []))
    if apart is None or function not in ("avg", "median", "sum"):
        return False
    closed = Closed(elements, apart)
    if function == "sum":
        return 0 in constants and closed.equal(column, 0)
    # The greatest value and the least are the same, be it a constant or a value between two.
    for low, high in product(constants, constants):
        if closed.at_most(column, high) + high == low - closed.at_most(low, column):
            return True
    return any(closed.equal(column, shown) for shown in query.shown)


def _keeps_aggregates(query: Plain, closed: Closed, stream_of: Mapping[str, str]) -> bool:
    """Theorems 8.5 and 8.6, the latter with its erratum: MAX also needs MinRef empty, MIN MaxRef."""
    is_join = len(query.streams) > 1
    if not all(closed.is_bounded(column) for column in query.shown):
        return False
    for function, column in query.aggregates:
        holistic = function in ("count distinct", "median")
        insensitive = function in ("min", "max", "count distinct") or _is_fixed(query, function, column)
        if is_join and not _keeps_joins(closed, list(stream_of), stream_of, insensitive):
            return False
        if holistic and not closed.is_bounded(column):
            return False
        if is_join and function in ("min", "max") and not closed.is_bounded(column):
            greatest = _classes(closed, _max_ref(closed, stream_of, stream_of[column]))
            least = _classes(closed, _min_ref(closed, stream_of, stream_of[column]))
            with_it, against = (greatest, least) if function == "max" else (least, greatest)
            if against or len(with_it) > 1 or (with_it and column not in with_it[0]):
                return False
    return True


def is_bounded_with_itself(query: Plain) -> bool:
    """Section 8.1 for DISTINCT, all streams of the query being one: each LTO is freed of redundant streams first."""
    return all(_keeps_conditions(*_without_redundant(query, closed)) for closed in derived(query))


def _without_redundant(query: Plain, closed: Closed) -> tuple[Plain, Closed]:
    for own, other in product(query.streams, query.streams):
        if own != other and _covers(query, closed, own, other):
            streams = {name: columns for name, columns in query.streams.items() if name != own}
            shown = [_same_column(column, own, other) for column in query.shown]
            left = [e for e in closed.elements if not isinstance(e, str) or e.split(".")[0] != own]
            apart = [[closed.at_most(one, two) for two in left] for one in left]
            return _without_redundant(replace(query, streams=streams, shown=shown), Closed(left, apart))
    return query, closed


def _same_column(column: str, own: str, other: str) -> str:
    name, _, rest = column.partition(".")
    return f"{other}.{rest}" if name == own else column


def _covers(query: Plain, closed: Closed, own: str, other: str) -> bool:
    """Definition 8.2: whatever holds of a column of `own` and another element holds of `other`'s."""
    for column in query.streams[own]:
        here = _same_column(column, own, other)
        for element in closed.elements:
            moved = _same_column(element, own, other) if isinstance(element, str) else element
            for low, high, new_low, new_high in ((column, element, here, moved), (element, column, moved, here)):
                if closed.less(low, high) and not closed.less(new_low, new_high):
                    return False
                if closed.less_or_equal(low, high) and not closed.less_or_equal(new_low, new_high):
                    return False
        if column in query.shown and not closed.equal(column, here):
            return False
    return True
