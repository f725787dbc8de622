"""Which stored rows are closed on which stream, by the promises made so far (DESIGN section 1, "rule out").

Each closer of the plan has a **limit** that the headers move: a row is closed by a band or an order if its value is
at most the limit, by FOLLOWS if its batch is. Promises about values, of keys and punctuations, are marks on the rows
that carry them. So asking is one comparison a closer, and the rows that a batch newly closes are those between the
limit before and the limit now: nothing else is looked at. (An order over strings, binaries or wide decimals has no
number to search by; there all rows of the source are compared.) A punctuation whose values several rows of a partial
result carry between them is looked up among the promise rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow.compute as pc

from penstock.model.predicates import Op
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.parts import PairPredicate
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.runtime.columns.codes import INT64, Bools, Ints, Ordinal, empty_ids, union
from penstock.runtime.input.arrival_order import NOTHING, ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.match.key_matching import nulls
from penstock.runtime.promise.bands import BandWatch
from penstock.runtime.promise.follows import FollowsWatch
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.ordered import OrderedWatch
from penstock.runtime.promise.punctuated import PunctuatedWatch
from penstock.runtime.promise.told_frontier import FrontierWatch
from penstock.runtime.promise.watch import Watch
from penstock.runtime.state.synopsis import FRESH, OLD, Synopsis

Limit = Ordinal | None


class Closedness:
    """The limits of all closers."""

    def __init__(
        self, plan: Plan, clock: Clock, watches: tuple[Watch, ...], across: ArrivalOrder | None = None
    ) -> None:
        self.plan = plan
        self.across = across
        self.clock = clock
        self.ended = False
        """Whether every stream is at its end: nothing more comes of any, so every row is closed."""
        self.bands = [w for w in watches if isinstance(w, BandWatch)]
        self.follows = [w for w in watches if isinstance(w, FollowsWatch)]
        self.orders = [w for w in watches if isinstance(w, OrderedWatch | FrontierWatch)]
        self.limits: dict[Closer, Limit] = dict.fromkeys(plan.closers)
        self.before = dict(self.limits)
        self._widened: dict[str, int] = {}
        self._evaluate()
        self._between: dict[tuple[str, str], list[Closer]] = {}
        punctuations = {(w.alias, w.promise.constraint): w for w in watches if isinstance(w, PunctuatedWatch)}
        self._joint = [(closer, punctuations[closer.target, closer.constraint]) for closer in plan.joint_closers]
        for closer in plan.closers:
            self._between.setdefault((closer.source, closer.target), []).append(closer)

    def advance(self) -> None:
        """Move the limits to what the headers and the widened constraints say now."""
        self.before = self.limits
        widened = {w.promise.constraint: w.widened for w in self.bands if w.widened}
        if widened != self._widened:
            self._widened = widened
            self._evaluate()
        self.limits = {}
        for closer in self.plan.closers:
            match closer.kind:
                case CloserKind.BAND:
                    low = self.low(closer.target, closer.target_columns[0])
                    ticks, strict = self.apart(closer)
                    limit: Limit = None if low is None else _held(low - ticks - (0 if strict else 1))
                case CloserKind.ORDER:
                    limit = self._floor(closer)
                case CloserKind.FOLLOWS:
                    limit = self._followed(closer)
                case CloserKind.KEY | CloserKind.PUNCTUATION | CloserKind.CLUSTER:
                    limit = None
                case CloserKind.NEVER:
                    limit = INT64.max
            self.limits[closer] = limit

    def _evaluate(self) -> None:
        """Work out by how much columns may exceed each other, as widened."""
        limits = {c: c.excess.limit(self._widened) for c in self.plan.closers if c.excess is not None}
        self._apart = {closer: (limit.ticks, limit.strict) for closer, limit in limits.items()}
        self._agreed = [(agreement, agreement.excess.limit(self._widened)) for agreement in self.plan.agreements]

    def apart(self, closer: Closer) -> tuple[int, bool]:
        """By how many ticks the column of a band or an order may exceed the row's, and whether it stays below that."""
        return self._apart[closer]

    def implied(self, bound: frozenset[str], target: str) -> tuple[PairPredicate, ...]:
        """What promises and chains of predicates say of rows of the bound sources and one of target in one result."""
        found = []
        for agreement, limit in self._agreed:
            left, right = agreement.left, agreement.right
            op = Op.LT if limit.strict else Op.LE
            if left.alias in bound and right.alias == target:
                found.append(PairPredicate(right, op, left, limit.ticks, ""))
            elif right.alias in bound and left.alias == target:
                found.append(PairPredicate(left, op.mirrored, right, -limit.ticks, ""))
        return tuple(found)

    def low(self, alias: str, column: str | None) -> int | None:
        """The least value that may still come in a column of a clock type, in ticks; None if it is not known."""
        known = [w.floor_ticks for w in self.orders if w.promise.alias == alias and w.column == column]
        return max((ticks for ticks in known if ticks is not None), default=None)

    def _floor(self, closer: Closer) -> Limit:
        floors = [
            w.floor for w in self.orders if w.promise.alias == closer.target and w.column == closer.target_columns[0]
        ]
        known = [floor for floor in floors if floor is not None]
        if not known:
            return None
        floor = max(known)
        if isinstance(floor, int):
            return _held(floor if self.apart(closer)[1] else floor - 1)
        return floor

    def _followed(self, closer: Closer) -> int:
        """The last batch whose rows FOLLOWS has closed, or the last place in the order across streams."""
        return max(
            w.closed_batch(self.clock) if self.across is None else w.closed_place(self.across)
            for w in self.follows
            if (w.promise.alias, w.parent) == (closer.source, closer.target)
            and w.promise.constraint in closer.constraints
        )

    def closed(self, source: str, target: str, synopsis: Synopsis, ids: Ints) -> Bools:
        """Which of the rows of source, tuples or promises, can meet no future tuple of target."""
        found: Bools = np.full(len(ids), self.ended)
        for closer in self._between.get((source, target), ()):
            if not found.all():
                found |= self.closed_by(closer, synopsis, ids)
        return found

    def closed_together(self, synopses: Mapping[str, Synopsis], partial: Mapping[str, Ints], target: str) -> Bools:
        """Which of the partial results can meet no future tuple of target, by one member or by several together."""
        found: Bools = np.full(len(next(iter(partial.values()))), self.ended)
        for alias, rows in partial.items() if not self.ended else ():
            found |= self.closed(alias, target, synopses[alias], rows)
        for closer, watch in self._joint:
            members = closer.within(frozenset(partial)) if closer.target == target else None
            if members is not None:
                open_ = np.flatnonzero(~found)
                values = [(synopses[ref.alias], ref.column, partial[ref.alias][open_]) for ref in members]
                found[open_[watch.named(values)]] = True
        return found

    def closed_by(self, closer: Closer, synopsis: Synopsis, ids: Ints) -> Bools:
        """Which of the rows one closer has closed; none where the synopsis lacks what it looks at."""
        if closer.kind is CloserKind.NEVER:
            return np.ones(len(ids), np.bool_)
        closed = self._closed_by(closer, synopsis, ids)
        missing = nulls(synopsis, closer.columns, ids)
        # Outer joins keep rows that have a NULL there, as promises do: such a row meets nothing.
        return closed if missing is None else closed | missing

    def _closed_by(self, closer: Closer, synopsis: Synopsis, ids: Ints) -> Bools:
        nothing: Bools = np.zeros(len(ids), np.bool_)
        if closer.kind in ABOUT_VALUES:
            name = mark_name(closer)
            return synopsis.gather(ids, lambda s: s.mask(name)) if len(ids) else nothing
        limit = self.limits[closer]
        if limit is None or not len(ids):
            return nothing
        if closer.kind is CloserKind.FOLLOWS:
            if self.across is None:
                return synopsis.gather(ids, lambda s: s.batch) <= limit  # type: ignore[no-any-return]
            assert isinstance(limit, int)
            if ORDER not in synopsis.columns or limit < INT64.min:
                return nothing
            # Rows are stored in this order, so that most often it is a matter of their ids.
            first_open = synopsis.risen_to(ORDER, limit)
            return synopsis.codes(ORDER, ids) <= limit if first_open is None else ids < first_open
        column = closer.columns[0]
        if column not in synopsis.columns:
            return nothing
        if isinstance(limit, int):
            values = synopsis.ticks(column, ids) if closer.kind is CloserKind.BAND else synopsis.codes(column, ids)
            return values <= limit
        compare = pc.less_equal if self.apart(closer)[1] else pc.less
        passed = pc.fill_null(compare(synopsis.arrow(column, ids), limit), False)
        return passed.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def newly_closed(self, source: str, synopsis: Synopsis) -> Ints:
        """The old rows of source that some limit has passed since the last batch; marks tell of themselves."""
        found = [synopsis.ids(OLD) if self.ended else empty_ids()]
        for closer, limit in self._limiting(source):
            before = self.before.get(closer)
            if before != limit:
                found.append(self._passed(closer, synopsis, before, limit, OLD))
        return union(found)

    def closed_fresh(self, source: str, synopsis: Synopsis) -> Ints:
        """The fresh rows of source that some limit had passed as they came; marks tell of themselves."""
        return union([self._passed(closer, synopsis, None, limit, FRESH) for closer, limit in self._limiting(source)])

    def _limiting(self, source: str) -> Iterator[tuple[Closer, Ordinal]]:
        for closer, limit in self.limits.items():
            if closer.source == source and limit is not None and closer.kind not in ABOUT_VALUES:
                yield closer, limit

    def _passed(self, closer: Closer, synopsis: Synopsis, before: Limit, limit: Ordinal, which: str) -> Ints:
        """The rows of a part that a limit has passed on its way from what it was before."""
        if closer.kind is CloserKind.NEVER:
            return synopsis.ids(which) if before is None else empty_ids()
        if closer.kind is CloserKind.FOLLOWS:
            return self._followed_since(synopsis, before, limit, which)
        column = closer.columns[0]
        if column not in synopsis.columns or not synopsis.segments:
            return empty_ids()
        if isinstance(limit, int):
            above = before if isinstance(before, int) else NOTHING
            how = "ticks" if closer.kind is CloserKind.BAND else "codes"
            return synopsis.in_range(how, column, above, limit, which)
        ids = synopsis.ids(which)
        return ids[self.closed_by(closer, synopsis, ids)] if len(ids) else ids

    def _followed_since(self, synopsis: Synopsis, before: Limit, limit: Ordinal, which: str) -> Ints:
        assert isinstance(limit, int)
        if self.across is None:
            return synopsis.arrived(lambda s: s.batch, before if isinstance(before, int) else -1, limit, which)
        if ORDER not in synopsis.columns or limit < INT64.min:
            return empty_ids()
        return synopsis.in_range("codes", ORDER, before if isinstance(before, int) else NOTHING, limit, which)


def _held(ticks: int) -> Limit:
    """A limit up to which values are closed; one below all values closes none, not even the least."""
    return None if ticks < INT64.min else min(INT64.max, ticks)
