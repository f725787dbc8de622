"""The state of a query dealt anew, over another number of cells: `penstock rescale`.

A row lies in the cell that the hash of its key says, and so does all that a promise remembers of values that are keys;
what comes with the headers (counts, clocks, how far an order has climbed) is the same in every cell. So the cells of
another grid follow from those of this one: rows and values go where their hashes say, in the order of arrival, and the
rest is that of any cell. The buckets of the second stage likewise, by the hash of the group.

Where cells differ in what is no row, the cautious value is taken: the widest k, the fewest rows closed. It lets rows go
later and never sooner. All rows are then asked anew whether they may go.

**Preconditions**, each refused otherwise: no row is copied to several cells, before or after; no BUDGET, whose
statistics are of the rows that a cell saw; no ARRIVES BY that rows wait for; no CLUSTERED, which counts the rows of a
cell; nothing set aside in doubt (RECOVER, MONITOR, WITHIN AUTO, an audit).

**Theorem**: the dealt cells emit what the cells would have emitted, on every input to come. A result's rows agree on
the key and lie together before and after; a promise closes a value in the one cell that stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import NotSupportedYet
from penstock.plan.dealing import dealt_columns
from penstock.plan.doubting import is_doubted, is_learned, recovers
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind
from penstock.runtime.cell import Cell
from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.row_values import row_hashes
from penstock.runtime.group.stage import GroupStage
from penstock.runtime.input.grid import Grid
from penstock.runtime.join.purged import PurgeSchedule
from penstock.runtime.join.rows import ABSENT
from penstock.runtime.join.sides import WaitingSide
from penstock.runtime.promise.bands import BandWatch
from penstock.runtime.promise.follows import FollowsWatch
from penstock.runtime.promise.items import ItemWatch
from penstock.runtime.promise.monitor import Monitor
from penstock.runtime.promise.watch import Watch
from penstock.runtime.state.component import Component, components_of, tables_of
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import Changes
from penstock.runtime.state.synopsis import Synopsis

Store = dict[str, bytes]
Route = Callable[[Segment], Ints]
"""The new cell of each row."""
RouteOf = Callable[[str], Route]
"""By the path of a table, where its rows go."""


def require_dealt(plan: Plan, grids: Sequence[Grid]) -> None:
    """Raise NotSupportedYet, with the construct, if the state of a plan cannot be dealt anew from grid to grid."""
    reasons = [
        (plan.evict is not None, "a BUDGET, whose statistics are of the rows that each cell saw"),
        (plan.in_arrival_order, "ARRIVES BY, and rows that wait for their turn"),
        (any(p.kind is PromiseKind.CLUSTERED for p in plan.promises), "CLUSTERED BY, which counts the rows of a cell"),
        (any(is_doubted(plan, p) or is_learned(p) for p in plan.promises), "MONITOR or WITHIN AUTO, learned by cell"),
        (recovers(plan), "RECOVER, and rows that lie aside"),
        (plan.audit > 0, "an audit, and rows that it keeps"),
        (any(_copies(plan, grid) for grid in grids), "keys that not all streams have, so that rows are copied"),
    ]
    for is_so, what in reasons:
        if is_so:
            raise NotSupportedYet(
                f"the state of query {plan.query} cannot be dealt to other cells: it has {what}",
                hint="it goes on with the cells that it has, on any number of cores",
            )


def _copies(plan: Plan, grid: Grid) -> bool:
    cut = [number for number, share in enumerate(grid.shares) if share > 1]
    return any(not dealt_columns(plan, number, alias) for number in cut for alias in plan.aliases)


def redealt_cells(plan: Plan, stores: Sequence[Store], grid: Grid) -> list[Store]:
    """The stores of the cells of another grid."""
    before = [Cell.restore(plan, store) for store in stores]
    after = [Cell.restore(plan, stores[0], number=number) for number in range(grid.cells)]
    _move(before, after, _cell_routes(plan, before, grid))
    return [applied(stores[0], cell.save()) for cell in after]


def redealt_buckets(plan: Plan, stores: Sequence[Store], buckets: int, groups: tuple[str, ...] | None) -> list[Store]:
    """The stores of so many buckets of the second stage, dealt as `between_stages.deal` deals rows."""
    before = [GroupStage.restore(plan, store) for store in stores]
    after = [GroupStage.restore(plan, stores[0]) for _ in range(buckets)]
    names = before[0].others if groups is None else groups

    def by_group(segment: Segment) -> Ints:
        if not names:
            return np.zeros(len(segment), np.int64)
        found: Ints = (row_hashes(segment.table.select(list(names))) % np.uint64(buckets)).astype(np.int64)
        return found

    _move(before, after, lambda _: by_group)
    return [applied(stores[0], stage.save()) for stage in after]


def _move(before: Sequence[Component], after: Sequence[Component], route_of: RouteOf) -> None:
    """Let the new ones, each of which begins as the first of the old ones, hold the rows and the cautious numbers."""
    old, new = [components_of(one) for one in before], [components_of(one) for one in after]
    for path in old[0]:
        for name, value in _cautious([one[path] for one in old]):
            for one in new:
                setattr(one[path], name, value)
    tables = [tables_of(one) for one in before]
    for path, table in tables[0].items():
        if isinstance(table, Synopsis):
            shares = _dealt([one[path] for one in tables], len(new), route_of(path))
            for made, share in zip(after, shares, strict=True):
                _hold(tables_of(made)[path], share)
    for parts in new:
        for side in (part for part in parts.values() if isinstance(part, WaitingSide)):
            side.number_anew()


def _cautious(members: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The numbers that may differ from cell to cell, and what all new cells take."""
    match members[0]:
        case Monitor():
            yield "k", max((one.k for one in members if one.k is not None), default=None)
            yield "missed", max(one.missed for one in members)
            yield "_blocks", []
        case BandWatch():
            yield "widened", max(one.widened for one in members)
        case FollowsWatch():
            yield "_closed_before", min(one._closed_before for one in members)
        case PurgeSchedule():
            yield "kept", 0
            yield "owed", True


def _cell_routes(plan: Plan, before: Sequence[Cell], grid: Grid) -> RouteOf:
    """Where rows go: stored ones and values by their own columns, rows that wait with the tuples they are made of."""
    components = components_of(before[0])
    places = _places(plan, before, grid)

    def route_of(path: str) -> Route:
        alias = path.rpartition("/")[2]
        for above in _above(path):
            match components.get(above):
                case WaitingSide() as side:
                    return lambda segment: _with_tuples(segment, side.aliases, places)
                case ItemWatch() as items:
                    alias = items.closer.alias
                case Watch() as watch:
                    alias = watch.promise.alias
        return lambda segment: _by_key(plan, grid, alias, segment)

    return route_of


def _above(path: str) -> Iterator[str]:
    """The paths of what a table is part of, from near to far."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _by_key(plan: Plan, grid: Grid, alias: str, segment: Segment) -> Ints:
    base, offsets = grid.base(plan, alias, frozenset(segment.table.column_names), segment.table)
    if len(offsets) > 1:
        raise NotSupportedYet(
            f"the state of query {plan.query} cannot be dealt to other cells: what {alias} promises lies in all",
            hint="it goes on with the cells that it has, on any number of cores",
        )
    return base


def _places(plan: Plan, before: Sequence[Cell], grid: Grid) -> dict[str, tuple[Ints, Ints]]:
    """By alias, the places in the order of arrival of all stored rows, in order, and the new cell of each."""
    found = {}
    for alias in plan.aliases if not plan.inner else ():
        together = _together([cell.synopses[alias] for cell in before])
        if together is not None:
            order = np.argsort(together.arrival, kind="stable")
            found[alias] = together.arrival[order], _by_key(plan, grid, alias, together)[order]
    return found


def _with_tuples(segment: Segment, aliases: Sequence[str], places: dict[str, tuple[Ints, Ints]]) -> Ints:
    found = np.full(len(segment), -1, np.int64)
    for alias in aliases:
        named = segment.codes(alias)
        there = np.flatnonzero((named != ABSENT) & (found < 0))
        if len(there):
            arrivals, cells = places[alias]
            found[there] = cells[np.searchsorted(arrivals, named[there])]
    return found


def _together(tables: Sequence[Synopsis]) -> Segment | None:
    """The living rows of all cells, in the order of batches and of arrival."""
    pieces = [segment.taken(segment.living()) for table in tables for segment in table.segments if segment.live]
    if not pieces:
        return None
    names = dict.fromkeys(name for piece in pieces for name in piece.marks)
    whole = Segment(
        pa.concat_tables([piece.table for piece in pieces], promote_options="default"),
        np.concatenate([piece.arrival for piece in pieces]),
        np.concatenate([piece.batch for piece in pieces]),
        np.concatenate([piece.home for piece in pieces]),
        {name: np.concatenate([piece.mask(name) for piece in pieces]) for name in names},
    )
    counts = [piece.counts for piece in pieces if piece.counts is not None]
    whole.counts = np.concatenate(counts) if counts else None
    return whole.taken(np.lexsort((whole.arrival, whole.batch)))


def _dealt(tables: Sequence[Synopsis], count: int, route: Route) -> list[Segment | None]:
    whole = _together(tables)
    if whole is None:
        return [None] * count
    cells = route(whole)
    rows = (np.flatnonzero(cells == number) for number in range(count))
    return [whole.taken(mine) if len(mine) else None for mine in rows]


def _hold(table: Synopsis, share: Segment | None) -> None:
    """Let a table hold these rows and no others."""
    table.gone += [segment.name for segment in table.segments if segment.name is not None]
    table.segments = [] if share is None else [share]
    table.rebase()


def applied(store: Store, changes: Changes) -> Store:
    """A store with what a save changed."""
    gone = set(changes.delete)
    return {**{name: value for name, value in store.items() if name not in gone}, **changes.put}
