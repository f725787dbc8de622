"""What cells hold beside stored rows, dealt anew: chunks that wait for their turn, rows aside, an account of losses.

**Chunks.** Every cell has read the same chunks of a stream, each its own rows and keys of them. Together these are all
that any cell was given; a row of which only the key came was dropped by a filter. So each chunk is routed anew, by the
rules by which it was (`input/routing.py`), at the place where it waited. A chunk without data waits only where its
punctuations are; it stands before the next chunk with data.

**Rows aside** go where their keys say, as if they were stored; rows that were emitted, and are remembered, with their
tuples, all of which are stored or aside.

**The account** of a budget: sampled rows go where stored ones do; the room of a cell begins by what lies in it. Of
outer joins and EXISTS the account runs joins of its own, which are not dealt: it is blind from then on, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.budget.sample import Sample
from penstock.runtime.cell import Cell
from penstock.runtime.columns.codes import Ints, codes, flat
from penstock.runtime.columns.row_values import numbers
from penstock.runtime.discarded.cold_segments import ColdSegments
from penstock.runtime.discarded.emitted_rows import EmittedRows
from penstock.runtime.input.arrival_order import NOTHING
from penstock.runtime.input.batch import HOME, INDEX, Chunk
from penstock.runtime.input.gate import Waiting, WaitingRoom
from penstock.runtime.input.routing import Routing
from penstock.runtime.input.wire_columns import promise_columns, shipped_columns
from penstock.runtime.redealt_rows import RowsWay, Ways, dealt, together
from penstock.runtime.state.segment import Segment

Known = dict[str, int]
"""Where constraints stood when rows were set aside."""
Tables = dict[int, dict[Any, Any]]
"""By cell, and by alias or number of a promise."""


def deal_room(ways: Ways, before: Sequence[WaitingRoom], after: Sequence[WaitingRoom]) -> None:
    """Let the chunks of one stream wait in the new cells."""
    found: dict[tuple[int, bool], list[Waiting]] = {}
    passed: dict[tuple[int, bool], int] = {}
    for room in before:
        for number, one in enumerate(room.chunks):
            start = one.chunk.header.start
            assert start is not None
            place = (start, one.chunk.header.rows > 0)
            found.setdefault(place, []).append(one)
            passed[place] = max(passed.get(place, NOTHING), NOTHING if number else one.passed)
    held: list[list[Waiting]] = [[] for _ in after]
    for place in sorted(found):
        for cell, chunk in enumerate(routed(ways, [one.chunk for one in found[place]], len(after))):
            if chunk.header.rows or chunk.punctuations:
                # Of what waits only the first may have passed in part.
                held[cell].append(Waiting(chunk, found[place][0].top, NOTHING if held[cell] else passed[place]))
    for room, chunks in zip(after, held, strict=True):
        room.hold(chunks)


def routed(ways: Ways, shares: Sequence[Chunk], cells: int) -> list[Chunk]:
    """The shares of the new cells in a chunk of which these were given to the old ones."""
    plan, routing = ways.plan, Routing(ways.plan, ways.after)
    rows: Tables = {cell: {} for cell in range(cells)}
    keys: Tables = {cell: {} for cell in range(cells)}
    made: Tables = {cell: {} for cell in range(cells)}
    for source in (s for s in plan.sources if s.stream == shares[0].header.stream):
        whole = _each_once([share.rows[source.alias] for share in shares if source.alias in share.rows])
        for cell, table in routing.rows(source, whole) if whole is not None else ():
            rows[cell][source.alias] = table
        if wanted := promise_columns(plan, source.alias):
            told = [share.keys[source.alias] for share in shares if source.alias in share.keys]
            every = _each_once([*([] if whole is None else [whole]), *(one.select([*wanted, INDEX]) for one in told)])
            if every is None:
                continue
            known = np.zeros(0, np.int64) if whole is None else codes(whole.column(INDEX))
            chosen = pa.array(np.isin(codes(every.column(INDEX)), known))
            for name in (c for c in shipped_columns(plan, source.alias) if c not in every.column_names):
                # Where the row itself would go is asked of rows that came whole.
                every = every.append_column(name, pa.nulls(every.num_rows, pa.int64()))
            for cell, table in routing.keys(source, [*wanted, INDEX], every, chosen):
                keys[cell][source.alias] = table
    for number in dict.fromkeys(number for share in shares for number in share.punctuations):
        told = [share.punctuations[number] for share in shares if number in share.punctuations]
        for cell, table in routing.punctuations(number, _each_value_once(told)):
            made[cell][number] = table
    header = shares[0].header
    return [Chunk(header, rows[cell], keys[cell], punctuations=made[cell]) for cell in range(cells)]


def _each_once(tables: Sequence[Any]) -> Any | None:
    """The rows of all tables by their index, as the first that has it gives each; None if there are none."""
    plain = [table.drop_columns([HOME] if HOME in table.column_names else []) for table in tables if table.num_rows]
    if not plain:
        return None
    whole = pa.concat_tables(plain, promote_options="default")
    return whole.take(pa.array(np.unique(codes(whole.column(INDEX)), return_index=True)[1]))


def _each_value_once(tables: Sequence[Any]) -> Any:
    whole = pa.concat_tables(tables, promote_options="default").combine_chunks()
    named = np.stack([numbers(flat(whole.column(name))) for name in whole.column_names], axis=1)
    return whole.take(pa.array(np.sort(np.unique(named, axis=0, return_index=True)[1])))


def deal_piles(way: RowsWay, before: Sequence[ColdSegments], after: Sequence[ColdSegments], stored: Ints) -> None:
    """Let what lies aside of one stream lie in the new cells: what is aside for sure, and what is sampled.

    Of a row that is stored in some cell, and so in all that it goes to, no copy lies aside.
    """
    found: list[list[tuple[Segment, Known]]] = [[] for _ in after]
    for is_sure in (False, True):
        chosen = [(piles, pile) for piles in before for pile in piles.piles if bool(pile.since) is is_sure]
        since: Known = {}
        for _, pile in chosen:
            # As long as any of them: the later, the longer.
            since = {name: max(place, since.get(name, place)) for name, place in pile.since.items()}
        whole = together([_without(piles.rows_of(pile), stored) for piles, pile in chosen], way)
        for held, share in zip(found, dealt(whole, way, len(after)), strict=True):
            if share is not None:
                held.append((share, since))
    for piles, held in zip(after, found, strict=True):
        piles.hold(held)


def _without(segment: Segment, stored: Ints) -> Segment:
    return segment.taken(np.flatnonzero(~np.isin(segment.arrival, stored))) if len(stored) else segment


def deal_emitted(
    ways: Ways, before: Sequence[EmittedRows], after: Sequence[EmittedRows], known: Mapping[str, Segment | None]
) -> None:
    """Let the new cells remember what the old ones emitted; `known` are all tuples, stored or aside."""
    way = ways.of_tuples(before[0].aliases, known)
    logged = together([one.log.rows_of(pile) for one in before for pile in one.log.piles])
    waiting = [one.segment(one.pending) for one in before if one.pending is not None]
    shares = (dealt(logged, way, len(after)), dealt(together(waiting), way, len(after)))
    for made, log, pending in zip(after, *shares, strict=True):
        made.log.hold([] if log is None else [(log, {})])
        made.pending = None if pending is None else np.stack([pending.codes(a) for a in made.aliases], axis=1)


def deal_account(ways: Ways, before: Sequence[Cell], after: Sequence[Cell]) -> None:
    """Let the new cells account for what was evicted, and begin with the room that their rows take."""
    for alias in ways.plan.aliases:
        samples = [sample for cell in before if (sample := _sample(cell, alias)).rows is not None]
        made = [_sample(cell, alias) for cell in after]
        for sample in made:
            sample.empty()
        # The joins of the account are its own where they are not inner: see Account.follow.
        if samples and ways.plan.inner:
            whole = pa.concat_tables([sample.rows for sample in samples], promote_options="default").combine_chunks()
            base = ways.after.line(ways.plan, alias, None, whole).base
            for number, sample in enumerate(made):
                mine = np.flatnonzero(base == number)
                sample.rows = whole.take(pa.array(mine)) if len(mine) else None
                sample.put_in_order()
    needs = [float(sum(synopsis.live for synopsis in cell.synopses.values())) for cell in after]
    for cell in after:
        assert cell.eviction is not None
        cell.eviction.shares.needs = needs


def _sample(cell: Cell, alias: str) -> Sample:
    assert cell.eviction is not None
    return cell.eviction.account.samples[alias]
