"""The slow reference for outer joins and EXISTS: SQL over the full history, straight from DESIGN sections 2 and 3.

It joins the tree of FROM by nested loops, keeps every row for ever, and knows nothing of promises or plans. A match is
a combination that meets the condition of the join, or of the EXISTS, and is in all windows; windows look at the rows
that are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.model.clauses import RangeWindow, RowsWindow, columns_of
from penstock.model.predicates import Bound, Comparison, Difference, NullTest, Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, JoinKind, Leaf, leaves
from tests.runtime.reference import _HOLDS, Arrived, History, ticks

Combined = dict[str, Arrived | None]


def holds(predicate: Predicate, combined: Combined) -> bool:
    """Whether a condition is true of a combination; an absent row has NULLs, and unknown is not true."""
    values = []
    for ref in predicate.columns:
        row = combined[ref.alias]
        values.append(None if row is None else row.values[ref.column])
    match predicate:
        case NullTest(is_null=is_null):
            return (values[0] is None) is is_null
        case _ if None in values:
            return False
        case Comparison(op=op):
            return bool(_HOLDS[op](*values))
        case Difference(op=op, span=span):
            return bool(_HOLDS[op](ticks(values[0]) - ticks(values[1]), span.ticks))
        case Bound(op=op, constant=constant):
            return bool(_HOLDS[op](values[0], constant.value))
        case _:
            raise NotImplementedError(predicate)


class Evaluator:
    """The answer of a query over a history; [ROWS n] counts rows of `counted`, where some are kept out."""

    def __init__(self, query: Query, history: History, counted: History | None = None) -> None:
        self.query = query
        self.history = history
        self.counted = history if counted is None else counted
        self.rank = {name: n for n, name in enumerate(dict.fromkeys(s.stream.name for s in query.all_sources))}

    def answer(self) -> Counter[tuple[Any, ...]]:
        """The bag of output rows."""
        return Counter(self.shown(combined) for combined in self.results())

    def shown(self, combined: Combined) -> tuple[Any, ...]:
        """The output columns of a result."""
        refs = [ref for output in self.query.outputs for ref in columns_of(output.value)]
        rows = [(combined[ref.alias], ref.column) for ref in refs]
        return tuple(None if row is None else row.values[column] for row, column in rows)

    def results(self) -> Iterator[Combined]:
        for combined in self._rows(self.query.tree):
            if all(holds(p, combined) for p in self.query.where) and all(
                bool(self.witnesses(existence, combined)) != existence.negated for existence in self.query.existences
            ):
                yield combined

    def prompt(self) -> dict[int, Counter[tuple[Any, ...]]]:
        """Results from which no stream is absent and that no NOT EXISTS decides, by the batch that completes them."""
        found: dict[int, Counter[tuple[Any, ...]]] = {}
        if any(e.negated for e in self.query.existences):
            return found
        for combined in self.results():
            rows = [row for row in combined.values() if row is not None]
            if len(rows) == len(combined):
                first = [min(w.batch for w in self.witnesses(e, combined)) for e in self.query.existences]
                batch = max([row.batch for row in rows] + first)
                found.setdefault(batch, Counter())[self.shown(combined)] += 1
        return found

    def witnesses(self, existence: Existence, combined: Combined) -> list[Arrived]:
        alias = existence.source.alias
        rows = self.history[existence.source.stream.name]
        return [row for row in rows if self._match(existence.condition, {**combined, alias: row})]

    def _rows(self, tree: FromTree) -> Iterator[Combined]:
        if isinstance(tree, Leaf):
            for row in self.history[self.query.by_alias[tree.alias].stream.name]:
                yield {tree.alias: row}
            return
        left, right = list(self._rows(tree.left)), list(self._rows(tree.right))
        met: set[int] = set()
        for one in left:
            matches = [n for n, other in enumerate(right) if self._match(tree.on, {**one, **other})]
            met.update(matches)
            yield from ({**one, **right[n]} for n in matches)
            if not matches and tree.kind in (JoinKind.LEFT, JoinKind.FULL):
                yield {**one, **dict.fromkeys(leaves(tree.right))}
        if tree.kind in (JoinKind.RIGHT, JoinKind.FULL):
            yield from ({**dict.fromkeys(leaves(tree.left)), **o} for n, o in enumerate(right) if n not in met)

    def _match(self, on: Sequence[Predicate], both: Combined) -> bool:
        return all(holds(p, both) for p in on) and self._in_windows(both)

    def _in_windows(self, both: Combined) -> bool:
        there = {alias: row for alias, row in both.items() if row is not None}
        sources = [self.query.by_alias[alias] for alias in there]
        if any(isinstance(s.window, RangeWindow) for s in self.query.all_sources):
            times = {s.alias: there[s.alias].values[s.stream.event_time or ""] for s in sources}
            if None in times.values():
                return False
            latest = max(ticks(time) for time in times.values())
            for source in sources:
                window = source.window
                if isinstance(window, RangeWindow) and ticks(times[source.alias]) <= latest - window.span.ticks:
                    return False
        moments = [(there[s.alias].batch, self.rank[s.stream.name], there[s.alias].place) for s in sources]
        for source in sources:
            if isinstance(source.window, RowsWindow):
                name = source.stream.name
                last = max(moments)
                so_far = sum(1 for a in self.counted[name] if (a.batch, self.rank[name], a.place) <= last)
                if there[source.alias].place < so_far - source.window.count:
                    return False
        return True
