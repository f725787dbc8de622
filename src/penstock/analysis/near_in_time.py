"""Would it bound a query to say how far apart in time the rows lie that it joins, and to group by windows of time?

That is what a Spark user tries first: a condition on the times of both sides, a watermark for each, a window among the
keys of the groups. It changes the question, so it is no set of declarations (`analysis/fixes.py` has these), and its
length is an example that the user must set. It is offered where the verdict on the query so changed is `bounded`.

Each block that is not bounded is changed: where two sides of a join, or a row and the stream of an EXISTS, lie any time
apart, their event times are compared; where that is not enough, groups get a window of the event time of a stream that
is in every result. Each stream of such a block declares the order of its event time; one that declares no event time
names the time that the query compares, else the first that its rows carry.

Preconditions: the verdict is not `bounded`, and its open blocks read at most `_MOST` streams. Times of two types have
no difference, and are not compared; where some are whole numbers and others of the calendar, those of the calendar are.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Fix, Meeting, NearInTime, TimeCondition, Verdict, WindowOfGroups
from penstock.model.clauses import Source, TimeWindow, Union
from penstock.model.predicates import Comparison, Difference, Op, Predicate, aliases_of
from penstock.model.problem import InvalidModel
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf, certain, leaves
from penstock.model.schemes import NamedTime, Ordered, Scheme
from penstock.model.spans import Auto, Span, Unit

_MOST = 12
_APART, _APART_IN_NUMBERS = Span.of(1, Unit.HOUR), Span.of(1000)


def near_in_time(query: Query, verdict: Verdict) -> NearInTime | None:
    """What would bound a query, if it were asked; None if nothing of that kind is known to."""
    is_open = {block.name for block in verdict.blocks if block.verdict.verdict != "bounded"}
    if any(not isinstance(state.finding, Bounded) for state in verdict.streams):
        is_open.add("")
    concerned = _read_by(query, is_open, "")
    if any(_has_time_of_several(source) for _, source in concerned):
        return None  # No condition of USING could name it.
    if not 1 <= len(concerned) <= _MOST:
        return None
    try:
        declared = Fix(tuple(_orders(query, concerned)))
        asked = declaring(query, declared)
        clocks = [source.stream.clock for _, source in _read_by(asked, is_open, "")]
        apart = _APART if any(clock is not None and clock.is_instant for clock in clocks) else _APART_IN_NUMBERS
        says_time = any(_is_time(one) for _, one in declared.declarations)
        plain = _changed(asked, is_open, apart, frozenset())
        # What declarations alone can do is told as such, but where a stream has no event time yet.
        if (plain.conditions or says_time) and plain.bounds:
            return NearInTime(tuple(plain.conditions), (), apart, declared)
        grouped = _changed(asked, is_open, apart, is_open)
        if not grouped.windows or not grouped.bounds:
            return None
        for block in [window.block for window in grouped.windows]:
            fewer = _changed(asked, is_open, apart, {window.block for window in grouped.windows} - {block})
            grouped = fewer if fewer.windows and fewer.bounds else grouped
        return NearInTime(tuple(grouped.conditions), tuple(grouped.windows), apart, declared)
    except InvalidModel:
        return None  # What one of the streams or blocks cannot be.


def _has_time_of_several(source: Source) -> bool:
    """Whether it is a block that FROM makes of joins, whose time is that of whichever stream is there."""
    time = source.stream.event_time
    return source.below is not None and source.stream.is_nameless and time is not None and time.startswith("coalesce(")


def _changed(query: Query, is_open: Iterable[str], apart: Span, grouped: AbstractSet[str]) -> _Timed:
    """The query whose open blocks compare times, and some of which group by windows."""
    change = _Timed(is_open, apart, grouped)
    change.changed = change.query(query, "")
    return change


def _is_time(declaration: Scheme | NamedTime) -> bool:
    return isinstance(declaration, NamedTime)


def _read_by(query: Query | Union, is_open: Iterable[str], name: str) -> list[tuple[Query | Union, Source]]:
    """The sources that open blocks read, each with its block."""
    found = []
    for source in query.members if isinstance(query, Union) else query.all_sources:
        if name in is_open:
            found.append((query, source))
        if source.below is not None:
            found += _read_by(source.below, is_open, source.stream.name)
    return found


def _orders(
    query: Query, concerned: Iterable[tuple[Query | Union, Source]]
) -> Iterable[tuple[str, Scheme | NamedTime]]:
    """What each declared stream must say more, so that its event time is a clock."""
    said = set[str]()
    for block, source in concerned:
        stream = source.stream
        if source.below is not None or stream.name in said:
            continue
        said.add(stream.name)
        time = stream.event_time
        if time is None:
            time = _likely_time(block if isinstance(block, Query) else query, source)
            if time is None:
                continue
            yield stream.name, NamedTime(time)
        if not stream.ordering(time):
            yield stream.name, Ordered(time, Auto())


def _likely_time(query: Query, source: Source) -> str | None:
    """The time of a stream that the query compares with another's, else the first that its rows carry."""
    own = [c.name for c in source.stream.carried if not c.of_query and c.type is not None and c.type.is_instant]
    compared = [
        ref.column
        for predicate in query.predicates
        if isinstance(predicate, Difference | Comparison) and len(aliases_of(predicate)) > 1
        for ref in predicate.columns
        if ref.alias == source.alias and ref.column in own
    ]
    return next(iter([*compared, *own]), None)


class _Timed:
    """A query whose open blocks compare event times; `conditions` and `windows` are what was added."""

    def __init__(self, is_open: Iterable[str], apart: Span, grouped: AbstractSet[str]) -> None:
        self.is_open = frozenset(is_open)
        self.apart = apart
        self.grouped = grouped
        """The blocks whose groups get a window."""
        self.changed: Query | None = None
        self.conditions: list[TimeCondition] = []
        self.windows: list[WindowOfGroups] = []
        self.made: dict[str, Query | Union] = {}

    def query(self, query: Query, name: str) -> Query:
        """The query, which is the block of that name; the block on top has none."""
        sources, partners = (tuple(map(self.source, some)) for some in (query.sources, query.partners))
        query = replace(query, sources=sources, partners=partners)
        if name not in self.is_open:
            return query
        facts = Facts(query)
        block = query.block
        tree = self.tree(query, facts, block.tree, name, under_outer=False)
        existences = tuple(self.existence(query, facts, one, name) for one in block.existences)
        block = replace(block, tree=tree, existences=existences)
        time = next((s.event_time for s in query.sources if s.alias in query.core and self.has_clock(s)), None)
        has_window = any(isinstance(key, TimeWindow) for key in block.group_by)
        can_window = self.apart.unit is not None and not (block.top or block.sets or has_window)
        if name in self.grouped and block.group_by and can_window and time is not None:
            self.windows.append(WindowOfGroups(name, time))
            block = replace(block, group_by=(*block.group_by, TimeWindow(time, self.apart)))
        return query.with_block(block, sources)

    @property
    def bounds(self) -> bool:
        """Whether the changed query is bounded."""
        return self.changed is not None and check_query(self.changed).verdict == "bounded"

    def source(self, source: Source) -> Source:
        """A source over the block below, changed once."""
        if source.below is None:
            return source
        name, below = source.stream.name, source.below
        if name not in self.made:
            if isinstance(below, Union):
                self.made[name] = Union(tuple(map(self.source, below.members)))
            else:
                self.made[name] = self.query(below, name)
        return replace(source, below=self.made[name])

    def tree(self, query: Query, facts: Facts, tree: FromTree, name: str, *, under_outer: bool) -> FromTree:
        """FROM, with the times of the two sides compared in each join that leaves them any time apart."""
        if isinstance(tree, Leaf):
            return tree
        is_outer = under_outer or tree.kind is not JoinKind.INNER
        left = self.tree(query, facts, tree.left, name, under_outer=is_outer)
        right = self.tree(query, facts, tree.right, name, under_outer=is_outer)
        meeting = Meeting.WHERE if not is_outer else Meeting.ON
        more = self.compared(query, facts, (_sure_first(tree.left), _sure_first(tree.right)), name, meeting)
        return Join(tree.kind, left, right, (*tree.on, *more))

    def existence(self, query: Query, facts: Facts, existence: Existence, name: str) -> Existence:
        """An EXISTS whose stream lies near in time to those that its condition names."""
        own = existence.source.alias
        asking = dict.fromkeys(ref.alias for p in existence.condition for ref in p.columns if ref.alias != own)
        # With its stream as it is now: the block was taken apart before.
        source = query.by_alias[own]
        more = self.compared(query, facts, (tuple(asking), (own,)), name, Meeting.EXISTS)
        return replace(existence, source=source, condition=(*existence.condition, *more))

    def compared(
        self,
        query: Query,
        facts: Facts,
        sides: tuple[tuple[str, ...], tuple[str, ...]],
        name: str,
        meeting: Meeting,
    ) -> tuple[Predicate, ...]:
        """What keeps two sides near each other in time; nothing where something does, or nothing can."""
        left, right = ([query.by_alias[a] for a in side if self.has_clock(query.by_alias[a])] for side in sides)
        if any(_limits(facts, one, other) == (True, True) for one in left for other in right):
            return ()
        if not left or not right or left[0].stream.clock != right[0].stream.clock:
            return ()
        ours, theirs = left[0].event_time, right[0].event_time
        assert ours is not None
        assert theirs is not None
        is_after, is_before = _limits(facts, left[0], right[0])
        self.conditions.append(TimeCondition(name, theirs, ours, meeting, is_after, is_before))
        back = replace(self.apart, amount=-self.apart.amount)
        return (Difference(theirs, ours, Op.GE, back), Difference(theirs, ours, Op.LE, self.apart))

    def has_clock(self, source: Source) -> bool:
        """Whether its event time is one that the length is of."""
        clock = source.stream.clock
        return clock is not None and (clock.is_instant if self.apart.unit is not None else clock.is_integer)


def _sure_first(tree: FromTree) -> tuple[str, ...]:
    """The aliases of a part of FROM, those first that have a tuple in every row of it."""
    return tuple(sorted(leaves(tree), key=lambda alias: alias not in certain(tree)))


def _limits(facts: Facts, one: Source, other: Source) -> tuple[bool, bool]:
    """Whether the event time of the other is known to lie not much before the first one's; and not much after it."""
    bands, first, second = facts.of(one.alias, other.alias).bands, one.event_time, other.event_time
    if first is None or second is None:
        return False, False
    return bands.upper(first, second) is not None, bands.upper(second, first) is not None
