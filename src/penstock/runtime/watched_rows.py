"""What a cell tells of its rows beside their number: the oldest of each stream and its wait, and what let rows go.

The oldest row of a stream is the first that is stored, for rows are stored as they arrive. It waits for each stream
that the promises made so far leave open for it (`runtime/kept.py` tells the same of all rows, of a cell at rest). Cells
are put together by the largest of their triples: the earliest batch, then the earliest event time, then the waits.

What let rows go is asked of the rows that the purge rule let go: which promises had closed some other stream for them.
Of more than `_LOOKED_AT` rows in a batch a part is looked at, evenly spread, and the counts are in proportion: the cost
of telling must stay far below that of purging.

Not told: rows that left by [ROWS n], merged or evicted; and where a plan has more closings than are worth a number in
every batch (`MOST_CLOSINGS`), what let rows go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.plan.closer_plans import Closer
from penstock.plan.plan import Plan, SourcePlan
from penstock.runtime.columns.codes import ticks
from penstock.runtime.join.purged import Purged
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis

NOTHING = -(2**63)
"""In place of a number that is not known; less than all others, so that those who know it are believed."""
MOST_CLOSINGS = 24
_LOOKED_AT = 512


def closings_told(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The alias whose rows leave and the promise that closes, of all that is told of, in a fixed order."""
    found = dict.fromkeys((closer.source, _promise(closer)) for closer in plan.closers)
    return tuple(found) if len(found) <= MOST_CLOSINGS else ()


def _promise(closer: Closer) -> str:
    # The declaration by which it closes stands last among its reasons.
    declared = [reason for reason in closer.because if isinstance(reason, str)]
    return declared[-1] if declared else closer.kind.value


def oldest_rows(plan: Plan, synopses: Mapping[str, Synopsis], closing: Closedness) -> dict[str, tuple[int, int, int]]:
    """By alias, of the oldest row: its batch and its event time, both negative, and which streams it waits for.

    These are a number of which each bit is an alias of the plan.
    """
    return {alias: found for alias, found in _oldest(plan, synopses, closing) if found is not None}


def _oldest(
    plan: Plan, synopses: Mapping[str, Synopsis], closing: Closedness
) -> Iterator[tuple[str, tuple[int, int, int] | None]]:
    for source in plan.sources:
        synopsis = synopses[source.alias]
        found = _first(synopsis)
        if found is None:
            continue
        base, segment, row = found
        ids = np.array([base + row])
        waits = 0
        for number, other in enumerate(plan.aliases):
            if other != source.alias and not closing.closed(source.alias, other, synopsis, ids)[0]:
                waits |= 1 << number
        yield source.alias, (-int(segment.batch[row]), _time(source, synopsis, segment, row), waits)


def _first(synopsis: Synopsis) -> tuple[int, Segment, int] | None:
    base = 0
    for segment in synopsis.segments:
        if segment.live:
            return base, segment, 0 if segment.live == len(segment) else int(np.argmax(segment.alive))
        base += len(segment)
    return None


def _time(source: SourcePlan, synopsis: Synopsis, segment: Segment, row: int) -> int:
    column = source.event_time
    if column is None or column not in synopsis.columns:
        return NOTHING
    value = segment.column(column).slice(row, 1)
    return NOTHING if value.null_count else within_64_bits(-int(ticks(value)[0]))


def within_64_bits(number: int) -> int:
    """The number, or the nearest to it that is one of the counts and is known."""
    return max(NOTHING + 1, min(-(NOTHING + 1), number))


def let_go_by(plan: Plan, synopses: Mapping[str, Synopsis], closing: Closedness, purged: Purged) -> dict[str, int]:
    """How many of the rows that left each promise had closed a stream for, by its number in `closings_told`."""
    counts: dict[str, int] = {}
    told = closings_told(plan)
    if not told:
        return counts
    ways: dict[tuple[str, str], list[Closer]] = {}
    for closer in plan.closers:
        ways.setdefault((closer.source, _promise(closer)), []).append(closer)
    gone = {alias: purged.of(alias) for alias in purged.rows}
    for number, (alias, promise) in enumerate(told):
        ids = gone.get(alias)
        if ids is None or not len(ids):
            continue
        closers = ways[alias, promise]
        seen = ids[:: -(-len(ids) // _LOOKED_AT)]
        closed = np.zeros(len(seen), np.bool_)
        for closer in closers:
            closed |= closing.closed_by(closer, synopses[alias], seen)
        counts[str(number)] = round(int(np.count_nonzero(closed)) * len(ids) / len(seen))
    return counts
