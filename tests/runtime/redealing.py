"""Cells that are dealt anew, over another grid, between any two steps; for workloads that are made for one cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pyarrow as pa

from penstock.plan.dealing import dealt_columns
from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Chunk, StepResult
from penstock.runtime.columns.hashing import hash_rows
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.routing import Routing
from penstock.runtime.input.split_keys import Split, may_be_spread
from penstock.runtime.match.node_matching import NO_TESTS, Truth
from penstock.runtime.redeal import applied, redealt_cells, require_dealt
from penstock.runtime.redealt_aside import routed
from penstock.runtime.redealt_rows import Ways


class Redealt:
    """The cells of a plan, few or many, with copies of rows or without."""

    def __init__(
        self, plan: Plan, draw: Random, absent: Truth = NO_TESTS, *, often: float = 0.5, may_copy: bool = True
    ) -> None:
        self.plan, self.draw, self.absent, self.often, self.may_copy = plan, draw, absent, often, may_copy
        self.whole = Grid((1,) * len(plan.axes))
        self.grid = self._drawn()
        self.cells = [Cell(plan, absent=absent, number=number) for number in range(self.grid.cells)]
        self.stores: list[dict[str, bytes]] = [{} for _ in self.cells]
        self.moved = 0

    def _drawn(self) -> Grid:
        cells = self.draw.choice((1, 2, 3, 4, 6))
        may_copy = self.may_copy and self.plan.evict is None and self.draw.random() < 0.7
        grid = Grid.of(self.plan, cells, {a: self.draw.random() for a in self.plan.aliases}, may_copy=may_copy)
        return replace(grid, splits=self._splits(grid)) if self.draw.random() < self.often else grid

    def _splits(self, grid: Grid) -> tuple[Split, ...]:
        """Some of the keys that small whole numbers are, dealt to the streams whose rows may be spread."""
        axes = [axis for axis, share in enumerate(grid.shares) if share > 1]
        spread = may_be_spread(self.plan)
        if not axes or not spread:
            return ()
        axis = self.draw.choice(axes)
        spread = tuple(alias for alias in spread if dealt_columns(self.plan, axis, alias))
        width = max(len(dealt_columns(self.plan, axis, alias)) for alias in self.plan.aliases)
        values = list(product(range(-1, 9), repeat=width))
        chosen = self.draw.sample(values, self.draw.randint(1, len(values)))
        table = pa.table({str(n): [key[n] for key in chosen] for n in range(width)})
        if not spread:
            return ()
        by_sides: dict[tuple[tuple[str, int], ...], set[int]] = {}
        for key in hash_rows(table, table.column_names):
            by_sides.setdefault(self._sides(spread, grid.shares[axis]), set()).add(int(key))
        return tuple(Split(axis, sides, tuple(sorted(keys))) for sides, keys in by_sides.items())

    def _sides(self, spread: tuple[str, ...], cells: int) -> tuple[tuple[str, int], ...]:
        """One stream spread over some cells, or several over the sides of a grid of them."""
        count = self.draw.randint(1, len(spread)) if self.plan.tree.is_block else 1
        sides: list[tuple[str, int]] = []
        for alias in self.draw.sample(spread, count):
            sides.append((alias, self.draw.randint(1, cells)))
            cells //= sides[-1][1]
        return tuple(sides)

    def step(self, batch: Batch) -> list[StepResult]:
        """What each cell gives; then, now and then, the state is dealt anew."""
        shares = [self._shared(chunk) for chunk in batch.chunks]
        found = [
            cell.step(replace(batch, chunks=tuple(share[number] for share in shares)))
            for number, cell in enumerate(self.cells)
        ]
        for number, cell in enumerate(self.cells):
            self.stores[number] = applied(self.stores[number], cell.save())
        if not batch.is_last and self.draw.random() < self.often:
            self.redeal()
        return found

    def redeal(self) -> None:
        """Deal the state to another grid."""
        grid = self._drawn()
        require_dealt(self.plan, (self.grid, grid))
        self.moved += grid.cells != self.grid.cells
        self.stores = redealt_cells(self.plan, self.stores, self.grid, grid)
        self.grid = grid
        self.cells = [
            Cell.restore(self.plan, store, absent=self.absent, number=number)
            for number, store in enumerate(self.stores)
        ]

    def _shared(self, chunk: Chunk) -> list[Chunk]:
        shares = routed(Ways(self.plan, self.whole, self.grid), [chunk], self.grid.cells)
        header = chunk.header
        if self.plan.evict is not None:
            by_cell = tuple(sum(table.num_rows for table in share.rows.values()) for share in shares)
            given = {
                alias: [(n, share.rows[alias]) for n, share in enumerate(shares) if alias in share.rows]
                for alias in chunk.rows
            }
            header = replace(header, by_cell=by_cell, by_key=Routing(self.plan, self.grid).by_key(given))
        return [replace(share, header=header, order=chunk.order) for share in shares]
