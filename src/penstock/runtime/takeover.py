"""A query that was changed goes on with the state of what it was: which changes allow it, and what the state becomes.

**A column of SELECT more or less**, where each column that it asks for is among those that stored rows have: rows that
are stored answer it as well. Not where DISTINCT or groups remember what was selected.

**A policy** (ON VIOLATION): it says what is done when a row breaks a promise, not what is kept until then. Not RECOVER,
which needs what others throw away.

**WITHIN d** of an order in time, wider or narrower. What was closed stays closed: it was acted on. The clock of the
wider order stands where that of the narrower one stood, and moves again once rows have come that far; until then a row
below it breaks the promise, as it would have before, and is counted so. So nothing that was emitted as final becomes
wrong, in joins, outer joins, groups and blocks alike. That is the highest value moved by as much as d has grown or
shrunk, so that d below it is where the clock stood; a narrower order closes more as soon as rows come that are higher.

Everything else that the plan says must be the same (`obstacle`). All rows are then asked anew whether they may go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.plan.doubting import is_doubted, is_learned, recovers
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.cell import Cell
from penstock.runtime.promise.ordered import OrderedWatch
from penstock.runtime.redeal import Store, applied
from penstock.runtime.state.store import COLD, SEGMENT, compressed, from_ipc, to_ipc

_EXPLAINS = ("verdict", "strategy", "exact", "second_stage", "outputs", "selected")
_EXPLAINS_OF_SOURCE = ("state", "unmerged", "read", "kept", "shipped")
_TEXTS = ("constraint", "constraints", "because", "why")
_POLICY = ("policy", "into")


def obstacle(before: Plan, after: Plan) -> str | None:
    """What keeps a plan from going on with the state of another one, in words; None if nothing does."""
    return next(_obstacles(before, after), None)


def _obstacles(before: Plan, after: Plan) -> Iterator[str]:
    if before.evict is not None or after.evict is not None:
        yield "a BUDGET is there, whose statistics are of the query as it was"
    if recovers(before) != recovers(after):
        yield "RECOVER needs rows that are thrown away without it"
    yield from _of_promises(before, after)
    if _bare(before) != _bare(after) or _of_other_types(before, after):
        yield "what is kept, or when it may go, is not the same"
    if before.outputs != after.outputs or before.selected != after.selected:
        yield from _of_columns(before, after)


def _of_promises(before: Plan, after: Plan) -> Iterator[str]:
    if len(before.promises) != len(after.promises):
        return  # Told by what is left of the plans.
    for then, now in zip(before.promises, after.promises, strict=True):
        name = now.constraint
        if is_learned(then) != is_learned(now) or is_doubted(before, then) != is_doubted(after, now):
            yield f"of {name} something else is watched"
        if (then.rows, then.low) != (now.rows, now.low):
            yield f"{name} counts rows, or compares two streams, and what is kept for it goes by its WITHIN"
        if then.high != now.high:
            kind = next((c.type for c in after.by_alias[now.alias].read if c.name == now.columns[0]), None)
            if now.kind is not PromiseKind.ORDERED_TIME:
                yield f"{name}: only WITHIN of an order in time may change"
            elif kind == "DATE":
                yield f"{name} is about a DATE, whose days the new WITHIN may cut"


def _of_columns(before: Plan, after: Plan) -> Iterator[str]:
    if after.distinct or after.aggregate is not None or after.frontiers:
        yield "DISTINCT, groups or a query above remember what was selected"
    doubted = recovers(after) or any(is_doubted(after, p) or is_learned(p) for p in after.promises)
    if doubted or after.audit:
        yield "rows lie aside, with the columns that were selected"
    for source in after.sources:
        kept = before.by_alias[source.alias].kept if source.alias in before.by_alias else ()
        for name in source.kept:
            if name not in kept:
                yield f"stored rows have no {source.alias}.{name}, which was not asked for when they came"


def _bare(plan: Plan) -> dict[str, Any]:
    """What of a plan decides the state, but for what may change."""
    whole = {key: value for key, value in plan.to_dict().items() if key not in _EXPLAINS}
    whole["sources"] = [
        {key: value for key, value in one.items() if key not in _EXPLAINS_OF_SOURCE} for one in whole["sources"]
    ]
    for one, promise in zip(whole["promises"], plan.promises, strict=True):
        for name in (*_POLICY, *(("high",) if promise.kind is PromiseKind.ORDERED_TIME else ())):
            one.pop(name)
    return {key: _without_texts(value) for key, value in whole.items()}


def _of_other_types(before: Plan, after: Plan) -> bool:
    then, now = ({(s.alias, c.name): c.type for s in plan.sources for c in s.read} for plan in (before, after))
    return any(then[name] != now[name] for name in then.keys() & now.keys())


def _without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_texts(one) for key, one in value.items() if key not in _TEXTS}
    return [_without_texts(one) for one in value] if isinstance(value, list) else value


def taken_over(before: Plan, after: Plan, store: Store) -> Store:
    """The state of a cell of `after` that goes on with one of `before`; nothing stands against it."""
    found = dict(store)
    columns = {source.alias: source.kept for source in after.sources}
    dropped = {s.alias: set(s.kept) - set(columns[s.alias]) for s in before.sources}
    for name, entry in store.items():
        alias = _stored_rows_of(name)
        unwanted = dropped.get(alias, set()) if alias is not None else set()
        if unwanted:
            table = from_ipc(entry)
            found[name] = compressed(to_ipc(table.drop_columns([c for c in table.column_names if c in unwanted])))
    cell = Cell.restore(after, {name: entry for name, entry in found.items() if not name.startswith(COLD)})
    then = {id(now): old for old, now in zip(before.promises, after.promises, strict=True)}
    for watch in cell.watches:
        if isinstance(watch, OrderedWatch) and id(watch.promise) in then:
            _move_clock(watch, then[id(watch.promise)])
    cell.purge_schedule.owed = True
    return applied(found, cell.save())


def _stored_rows_of(entry: str) -> str | None:
    """The alias whose stored rows an entry holds."""
    path = entry.removeprefix(SEGMENT).rpartition("/")[0] if entry.startswith(SEGMENT) else ""
    return path.removeprefix("synopses/") if path.startswith("synopses/") else None


def _move_clock(watch: OrderedWatch, before: PromisePlan) -> None:
    monitor = watch.monitor
    if not watch.in_time or monitor.k is None or before.high == monitor.declared or monitor.declared is None:
        return
    in_force = monitor.k
    monitor.k = monitor.declared if in_force == before.high else max(in_force, monitor.declared)
    watch.move_peak(monitor.k - in_force)
