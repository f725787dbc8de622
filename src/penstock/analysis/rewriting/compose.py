"""Composition (REWRITE 4.4): the rules applied to every join and anti-join of a query, until none is left.

One identity must tie all sources. Every joined source must match by it (4.1), so that a result is one entity seen on
several streams; then the join is one count (4.2), every NOT EXISTS that matches by it too takes another count off
(4.3), and the groups must be columns that every counted stream carries. How far a counted row may lie from the root's
row of its entity is the tightest window that is implied; the boundary error follows from it (`bound.py`).

Joins commute under these conditions, so no order of them is searched for; sources are placed as they can be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.implication.rules import Reach
from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.eliminate_joins import (
    counted_source,
    no_counted_source,
    no_removed_source,
    not_keyed,
    removed_sources,
)
from penstock.analysis.rewriting.eliminate_window_predicates import WindowPredicates
from penstock.analysis.rewriting.identity import Identity, identities, pairs
from penstock.analysis.rewriting.substreams import SubStreams
from penstock.model.expressions import ColumnRef
from penstock.records import record


@record
class Composed:
    """A query whose joins are all eliminated: the source that counts, the one that is taken off, and what they need."""

    identity: Identity
    counted: str
    removed: tuple[str, ...]
    """The sources that are taken off; those after the first are rows of its stream too, and are counted with it."""
    lags: dict[str, Reach]
    """By counted source, how far after the root's row it lies."""
    apart: Reach
    """How far after its partner in V a row that is taken off lies; nothing if there is none."""
    asked: dict[str, Reach]
    """By counted source, how far after its partner, the root for V and V for A, the query matches it."""
    groups: dict[str, tuple[str, ...]]
    """By counted source, its columns for the groups."""


def compose(known: SubStreams) -> Composed | Reason:
    """The query without its joins, by the first identity that allows it; else why not."""
    first: Reason | None = None
    for identity in identities(known.question):
        found = _by(known, identity)
        if isinstance(found, Composed):
            return found
        first = first or found
    return first or CountReason.NO_IDENTITY()


def _by(known: SubStreams, identity: Identity) -> Composed | Reason:
    question = known.question
    predicates = WindowPredicates(known, identity)
    if (why := not_keyed(known, identity, question.aliases) or next(_unmatched(predicates), None)) is not None:
        return why
    counted = counted_source(known, identity)
    if counted is None:
        return no_counted_source(known)
    removed = removed_sources(known, identity, counted)
    if question.without and not removed:
        return no_removed_source(known, identity, counted)
    for alias in removed:
        if (why := predicates.match_follows(question.ties_without[alias])) is not None:
            return why
    sources = dict.fromkeys((question.root, counted, *removed))
    lags: dict[str, Reach] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for alias in sources:
        lags[alias] = _lag(predicates, question.root, alias)
        if lags[alias].low is None or lags[alias].high is None:
            return CountReason.UNLIMITED_LAG(alias, question.root)
        columns = [_group(known, identity, ref, alias) for ref in question.groups]
        if None in columns:
            ref = question.groups[columns.index(None)]
            return CountReason.NO_GROUP_COLUMN(alias, ref)
        groups[alias] = tuple(column for column in columns if column is not None)
    apart = _hull([_lag(predicates, counted, alias) for alias in removed])
    partners = {question.root: question.root, counted: question.root} | dict.fromkeys(removed, counted)
    asked = {alias: predicates.reach(partner, alias) for alias, partner in partners.items() if alias != partner}
    for alias in removed[1:]:
        if groups[alias] != groups[removed[0]]:
            return CountReason.NO_COMMON_GROUPS(removed[0], alias)
        lags[removed[0]] = _hull([lags[removed[0]], lags.pop(alias)])
        asked[removed[0]] = _hull([asked[removed[0]], asked.pop(alias)])
    return Composed(identity, counted, removed, lags, apart, asked, groups)


def _unmatched(predicates: WindowPredicates) -> Iterator[Reason]:
    """Reasons why some match is not by identity."""
    question = predicates.known.question
    placed, left = [question.joined[0]], list(question.joined[1:])
    while left:
        reasons = {alias: predicates.follows_from_match(alias, placed) for alias in left}
        fit = [alias for alias, why in reasons.items() if why is None]
        if not fit:
            yield next(why for why in reasons.values() if why is not None)
            return
        placed += fit
        left = [alias for alias in left if alias not in fit]
    for alias in question.without:
        if (why := predicates.follows_from_match(alias, placed)) is not None:
            yield why
    if (why := predicates.match_follows(question.ties)) is not None:
        yield why


def _lag(predicates: WindowPredicates, root: str, alias: str) -> Reach:
    """The tightest window in which a source lies after another, of those that the query and the declarations name."""
    known = predicates.known
    if alias == root:
        return Reach(0, 0)
    given = pairs(predicates.identity, root, alias)
    ends = sorted({end for length in known.ends() for end in (length, -length)})
    start = predicates.reach(root, alias)
    highs = [end for end in ends if start.high is None or end < start.high]
    lows = [end for end in reversed(ends) if start.low is None or end > start.low]
    high = _first(highs, lambda end: known.apart(root, alias, given, Reach(None, end)))
    low = _first(lows, lambda end: known.apart(root, alias, given, Reach(end, None)))
    return Reach(start.low if low is None else low, start.high if high is None else high)


def _hull(reaches: list[Reach]) -> Reach:
    """All of some windows together; no time at all if there is none."""
    lows, highs = [r.low for r in reaches], [r.high for r in reaches]
    return Reach(
        None if None in lows else min((end for end in lows if end is not None), default=0),
        None if None in highs else max((end for end in highs if end is not None), default=0),
    )


def _first(ends: list[int], holds: Callable[[int], bool]) -> int | None:
    """The first that holds, where all after it do too."""
    place = bisect_left(ends, True, key=holds)
    return ends[place] if place < len(ends) else None


def _group(known: SubStreams, identity: Identity, ref: ColumnRef, alias: str) -> str | None:
    """The column of a source that equals a group of the query."""
    question = known.question
    if alias == ref.alias:
        return ref.column if _may_group(known, ref) else None
    ties = (*question.ties, *question.ties_without.get(alias, ()))
    tied = [other.column for p in ties if ref in p.columns for other in p.columns if other.alias == alias]
    named = question.query.by_alias[alias].stream.column(ref.column)
    for column in dict.fromkeys([*tied, *([named.name] if named is not None and not named.is_virtual else [])]):
        equal = known.agree(ref.alias, alias, pairs(identity, ref.alias, alias), Reach(), ((ref.column, column),))
        if equal and known.has_value(alias, column) and _may_group(known, ref):
            return column
    return None


def _may_group(known: SubStreams, ref: ColumnRef) -> bool:
    # A FOREIGN KEY demands nothing of a NULL, so rows of one entity could be in different groups.
    time = known.question.time(ref.alias)
    return known.has_value(ref.alias, ref.column) and (time is None or time.column != ref.column)
