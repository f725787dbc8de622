"""The state of a query dealt anew, over another number of cells: `penstock rescale`.

A row lies in the cell that the hash of its key says, and so does all that a promise remembers of values that are keys;
what comes with the headers (counts, clocks, how far an order has climbed) is the same in every cell. So the cells of
another grid follow from those of this one: rows and values go where their hashes say, in the order of arrival
(`redealt_rows.py`), and so does what waits for its turn or lies aside (`redealt_aside.py`). The buckets of the second
stage likewise, by the hash of the group.

Where cells differ in what is no row, the cautious value is taken (`Component.follow`): the widest k, the fewest rows
closed. It lets rows go later and never sooner. All rows are then asked anew whether they may go. The statistics of a
budget are added up, and rooms begin by what lies in each cell.

**Preconditions**, each refused otherwise: no ARCHIVE, whose files are of the cells that were; under a BUDGET no row is
copied to several cells, before or after, for each copy may have been evicted by itself; nor under RECOVER over several
outer joins or EXISTS, where each copy may have left by itself what a late row has to find.

**Theorem**: the dealt cells emit what the cells would have emitted, on every input to come that keeps its promises;
under a BUDGET, a part of the exact answer, and no more is held. A result's rows agree on the key and lie together
before and after; a promise closes a value in every cell that stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.errors import NotSupportedYet
from penstock.plan.doubting import works_anew
from penstock.plan.plan import Plan
from penstock.runtime.cell import Cell
from penstock.runtime.columns.row_values import row_hashes
from penstock.runtime.discarded.cold_segments import ColdSegments
from penstock.runtime.discarded.emitted_rows import EmittedRows
from penstock.runtime.group.stage import GroupStage
from penstock.runtime.input.gate import WaitingRoom
from penstock.runtime.input.grid import CellLine, Grid
from penstock.runtime.input.split_keys import KeyTally, may_be_spread, most_split
from penstock.runtime.join.sides import WaitingSide
from penstock.runtime.promise.clustered import ClusteredWatch
from penstock.runtime.promise.items import ItemWatch
from penstock.runtime.promise.past_rows import PastClusters, PastFollowers
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.watch import Watch
from penstock.runtime.redealt_aside import deal_account, deal_emitted, deal_piles, deal_room
from penstock.runtime.redealt_rows import RowsWay, Ways, dealt, together
from penstock.runtime.state.component import Component, components_of, tables_of
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import Changes
from penstock.runtime.state.synopsis import Synopsis

Store = dict[str, bytes]
_ACCOUNT = "eviction/account/due/"
WayOf = Callable[[str], RowsWay]
"""By the path of a table, where its rows go."""


def require_dealt(plan: Plan, grids: Sequence[Grid]) -> None:
    """Raise NotSupportedYet, with the construct, if the state of a plan cannot be dealt anew from grid to grid."""
    copies = any(grid.copies(plan, alias) for grid in grids for alias in plan.aliases)
    reasons = [
        (plan.evict is not None and plan.evict.archive is not None, "an ARCHIVE, whose files are of the cells it has"),
        (plan.evict is not None and copies, "a BUDGET, under which copies of rows were evicted one by one"),
        (
            works_anew(plan) and copies,
            "RECOVER over several outer joins or EXISTS, and copies of rows that were let go one by one",
        ),
    ]
    for is_so, what in reasons:
        if is_so:
            raise NotSupportedYet(
                f"the state of query {plan.query} cannot be dealt to other cells: it has {what}",
                hint="it goes on with the cells that it has, on any number of cores",
            )


def grid_for(plan: Plan, cells: int, stores: Sequence[Store]) -> Grid:
    """At most so many cells for what these store: the fewest copies of rows as they came, and no key that fills one."""
    return _with_splits(plan, Grid.dealt(plan, cells, _rates(plan, stores)), stores)


def _rates(plan: Plan, stores: Sequence[Store]) -> dict[str, float]:
    """By alias, how many rows came; the same in every cell."""
    came = Cell.restore(plan, stores[0]).clock.count if stores else {}
    return {source.alias: float(max(came.get(source.stream, 0), 1)) for source in plan.sources}


def _with_splits(plan: Plan, grid: Grid, stores: Sequence[Store]) -> Grid:
    """A grid with the keys split that would fill a cell of it, by the rows that these cells store."""
    if grid.cells == 1 or not may_be_spread(plan):
        return grid
    tallies = [KeyTally(plan, axis) for axis, share in enumerate(grid.shares) if share > 1]
    for store in stores:
        cell = Cell.restore(plan, store)
        for alias, synopsis in cell.synopses.items():
            for segment in synopsis.segments:
                # A copy that is at home elsewhere was counted there.
                table = segment.table.take(pa.array(np.intersect1d(segment.living(), np.flatnonzero(segment.home))))
                for tally in tallies:
                    tally.add(alias, table)
    return replace(grid, splits=most_split(tallies, grid.shares))


def redealt_cells(plan: Plan, stores: Sequence[Store], before: Grid, after: Grid) -> list[Store]:
    """The stores of the cells of another grid."""
    old = [Cell.restore(plan, store) for store in stores]
    new = [Cell.restore(plan, stores[0], number=number) for number in range(after.cells)]
    ways = Ways(plan, before, after)
    _follow(old, new)
    _move(old, new, _cell_ways(ways, old))
    for path, room in tables_of(old[0]).items():
        if isinstance(room, WaitingRoom):
            deal_room(ways, [tables_of(cell)[path] for cell in old], [tables_of(cell)[path] for cell in new])
    for path, piles in tables_of(old[0]).items():
        if isinstance(piles, ColdSegments) and piles.alias in plan.aliases:
            way, rows = ways.of_rows(piles.alias), _stored(ways, old, piles.alias)
            stored = np.zeros(0, np.int64) if rows is None or way.names is None else rows.arrival
            deal_piles(way, [tables_of(cell)[path] for cell in old], [tables_of(cell)[path] for cell in new], stored)
    if works_anew(plan):
        known = {alias: _stored_or_aside(ways, old, alias) for alias in plan.aliases}
        deal_emitted(ways, _emitted(old), _emitted(new), known)
    if plan.evict is not None:
        deal_account(ways, old, new)
    for cell in new:
        for watch in cell.watches:
            watch.dealt(cell.synopses)
    return [applied(stores[0], cell.save()) for cell in new]


def redealt_buckets(plan: Plan, stores: Sequence[Store], buckets: int, groups: tuple[str, ...] | None) -> list[Store]:
    """The stores of so many buckets of the second stage, dealt as `between_stages.deal` deals rows."""
    before = [GroupStage.restore(plan, store) for store in stores]
    after = [GroupStage.restore(plan, stores[0]) for _ in range(buckets)]
    names = before[0].others if groups is None else groups

    def by_group(segment: Segment) -> list[CellLine]:
        if not names:
            return [CellLine(None, np.zeros(len(segment), np.int64), (0,))]
        hashed = row_hashes(segment.table.select(list(names)))
        return [CellLine(None, (hashed % np.uint64(buckets)).astype(np.int64), (0,))]

    _follow(before, after)
    _move(before, after, lambda _: RowsWay(by_group))
    return [applied(stores[0], stage.save()) for stage in after]


def _follow(before: Sequence[Component], after: Sequence[Component]) -> None:
    """Let the new ones, each of which begins as the first of the old ones, stand for all of these."""
    old, new = [components_of(one) for one in before], [components_of(one) for one in after]
    for number, parts in enumerate(new):
        for path, part in parts.items():
            part.follow([one[path] for one in old], is_first=number == 0)


def _move(before: Sequence[Component], after: Sequence[Component], way_of: WayOf) -> None:
    """Let the new ones hold the rows of the old ones."""
    tables = [tables_of(one) for one in before]
    for path, table in tables[0].items():
        if isinstance(table, Synopsis):
            way = way_of(path)
            # The account of a budget runs joins of its own, which are not dealt: see Account.follow.
            pieces = [] if _ACCOUNT in path else [segment for one in tables for segment in one[path].segments]
            whole = together(pieces, way)
            for made, share in zip(after, dealt(whole, way, len(after)), strict=True):
                _hold(tables_of(made)[path], share)
    for made in after:
        for side in (part for part in components_of(made).values() if isinstance(part, WaitingSide)):
            side.number_anew()


def _cell_ways(ways: Ways, before: Sequence[Cell]) -> WayOf:
    """Where rows go: stored ones and values by their own columns, rows that wait with the tuples they are made of."""
    components = components_of(before[0])
    stored = {} if ways.plan.inner else {alias: _stored(ways, before, alias) for alias in ways.plan.aliases}

    def way_of(path: str) -> RowsWay:
        above = [components[name] for name in _above(path) if name in components]
        match above[0] if above else None:
            case WaitingSide() as side:
                return ways.of_tuples(side.aliases, stored)
            case ValueTable() as values:
                return ways.of_values(_alias_of(above), values.columns)
            case ClusteredWatch() as watch:
                return ways.of_values(watch.alias, watch.columns)
            case PastClusters() as past:
                return ways.of_values(_alias_of(above), past.rows.columns)
            case PastFollowers() as past:
                return ways.of_left_rows(_alias_of(above), past.columns)
        return ways.of_rows(path.rpartition("/")[2])

    return way_of


def _alias_of(above: Sequence[Component]) -> str:
    watch = next(one for one in above if isinstance(one, Watch))
    return watch.closer.alias if isinstance(watch, ItemWatch) else watch.promise.alias


def _stored(ways: Ways, before: Sequence[Cell], alias: str) -> Segment | None:
    return together([s for cell in before for s in cell.synopses[alias].segments], ways.of_rows(alias))


def _emitted(cells: Sequence[Cell]) -> list[EmittedRows]:
    return [cell.doubted_rows.emitted for cell in cells if cell.doubted_rows.emitted is not None]


def _stored_or_aside(ways: Ways, before: Sequence[Cell], alias: str) -> Segment | None:
    stored = [segment for cell in before for segment in cell.synopses[alias].segments]
    aside = (cell.doubted_rows.piles[alias] for cell in before)
    return together([*stored, *(piles.rows_of(pile) for piles in aside for pile in piles.piles)], ways.of_rows(alias))


def _above(path: str) -> Iterator[str]:
    """The paths of what a table is part of, from near to far; the cell itself is left out."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _hold(table: Synopsis, share: Segment | None) -> None:
    """Let a table hold these rows and no others."""
    table.gone += [segment.name for segment in table.segments if segment.name is not None]
    table.segments = [] if share is None else [share]
    table.rebase()


def applied(store: Store, changes: Changes) -> Store:
    """A store with what a save changed."""
    gone = set(changes.delete)
    return {**{name: value for name, value in store.items() if name not in gone}, **changes.put}
