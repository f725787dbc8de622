"""Does constant memory suffice for a query, whatever its streams bring? (MEMORY; predicates, types and CHECK alone)

True where C1, C2 and C3 hold, and for aggregates Theorems 8.3 to 8.6 (obstacles.py); or where the conditions can never
all hold. False where one of them fails and a growing input was built and found to pass every condition (witness.py).
None, with the reason, where the query is outside the language, where an expression that only Spark reads decides it, or
where no such input could be written down.

A stream joined with itself (section 8.1): where it does not matter how often a result is found, a source that another
one covers is left out first. If a condition still fails, only an input that was run counts (self_joins.py).

Preconditions: none. Windows, promises and hints are not looked at: the question is about the query without them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.finding import MemoryFinding, Row, Witness
from penstock.analysis.memory.distinguishability import copies_to_try, tells_apart
from penstock.analysis.memory.failed_conditions import FailedCondition
from penstock.analysis.memory.measured_columns import is_measured, unmet
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.obstacles import Obstacles
from penstock.analysis.memory.order import conflicting
from penstock.analysis.memory.self_joins import has_self_join
from penstock.analysis.memory.synopses import synopsis_of
from penstock.analysis.memory.witness import MemoryWitness, copies_of
from penstock.analysis.reasons import Because
from penstock.analysis.synopsis_form import SynopsisForm
from penstock.model.predicates import Comparison, Op
from penstock.model.query import Query

_TRIED = 4
"""Rows of a growing input that are enough to see whether there is one."""
_MOST_TRIED = 40
"""Places where an input may grow that are looked at."""
_LEADS = ("C2", "C3", "C1")
"""The conditions, the ones whose inputs are plainest first."""


def memory_finding(query: Query) -> MemoryFinding:
    """Whether constant memory suffices, whatever windows and promises say."""
    reading = MemoryReading(query)
    if reading.outside:
        return MemoryFinding(None, because=reading.outside)
    case = Obstacles(query)
    if not case.order.holds:
        return _never(tuple(dict.fromkeys(c.text for c in conflicting(case.reading))))
    if texts := reading.lacking or _unmet(case):
        return _never(texts)
    synopses = _synopses(case)
    violates = tuple(violation.named for violation in case.violations)
    doubts = tuple(doubt.because for doubt in case.doubts)
    if not violates and not doubts:
        return MemoryFinding(True, synopses=synopses, results=case.results)
    if not violates or case.reading.unread:
        because = (*doubts, *case.reading.unread)
        return MemoryFinding(None, violates, because, synopses=synopses, results=case.results)
    shown = _places(case)
    copies = _copies(shown, _TRIED)
    if copies is None:
        why = MemoryReason.NOT_WRITTEN_DOWN()
        return MemoryFinding(None, violates, (*doubts, why), synopses=synopses, results=case.results)
    witness = replace(copies.witness, longer=lambda count: _rows(shown, count))
    grows = partial(_growing_sources, shown)
    return MemoryFinding(False, violates, synopses=synopses, results=case.results, witness=witness, grows=grows)


def _never(texts: tuple[str, ...]) -> MemoryFinding:
    return MemoryFinding(True, because=(Because.CANNOT_ALL_HOLD(texts),), never=True, results=0)


def _unmet(case: Obstacles) -> tuple[str, ...]:
    """Conditions on FLOAT and DOUBLE columns that no number meets, and what makes their columns equal."""
    reading, order = case.reading, case.order
    measured = [(c.predicate, c.text) for c in reading.binding if is_measured(c.predicate, reading.kind)]
    if not measured:
        return ()
    refs = [ref for predicate, _ in measured for ref in predicate.columns]
    needed = [(p, text) for p, text in measured if reading.given.issuperset(p.columns)]
    found = unmet(needed, {ref: order.equal_to(ref)[0] for ref in refs if ref in order.columns})
    told = {ref for predicate, text in measured if text in found for ref in predicate.columns}
    if len(told) < 2:
        return found
    tied = [c.text for c in reading.binding if isinstance(c.predicate, Comparison) and c.predicate.op is Op.EQ]
    return (*tied, *found)


def memory_witness(query: Query, count: int) -> Witness | None:
    """Rows that any algorithm must remember, as many as asked for; None unless constant memory does not suffice."""
    copies = growing_copies(query, count)
    return None if copies is None else copies.witness


def growing_copies(query: Query, count: int) -> MemoryWitness | None:
    """The rows of the witness, and for each of them the rows that ask for it."""
    reading = MemoryReading(query)
    if reading.outside or reading.unread:
        return None
    case = Obstacles(query)
    return _copies(_places(case), count) if case.order.holds else None


def _places(case: Obstacles) -> Obstacles:
    """The case with every place where an input may grow, where rows of one stream come under several names."""
    query = case.reading.query
    return Obstacles(query, every=True) if has_self_join(query) else case


def _rows(case: Obstacles, count: int) -> tuple[Row, ...]:
    copies = _copies(case, count)
    return () if copies is None else copies.rows


def _growing_sources(case: Obstacles, among: frozenset[str]) -> frozenset[str]:
    """Those of the sources of which some growing input shows that their rows must be remembered."""
    found: set[str] = set()
    for violation in _by_plainness(case):
        asked = among.intersection(violation.barred) - found
        if asked and _copies_of(case, violation, _TRIED) is not None:
            found |= asked
    return frozenset(found)


def _copies(case: Obstacles, count: int) -> MemoryWitness | None:
    found = (_copies_of(case, violation, count) for violation in _by_plainness(case)[:_MOST_TRIED])
    return next((copies for copies in found if copies is not None), None)


def _by_plainness(case: Obstacles) -> list[FailedCondition]:
    found = sorted(case.violations, key=lambda v: _LEADS.index(v.condition))
    return [*found, *(beside for v in found for beside in case.with_the_rest_high(v))]


def _copies_of(case: Obstacles, violation: FailedCondition, count: int) -> MemoryWitness | None:
    query = case.reading.query
    if has_self_join(query):
        tries = (copies_of(case.reading, case.order, violation, many) for many in copies_to_try(query))
        if not all(tried is not None and tells_apart(case.reading, tried) for tried in tries):
            return None
    return copies_of(case.reading, case.order, violation, count)


def _synopses(case: Obstacles) -> tuple[SynopsisForm, ...]:
    sources = case.reading.query.all_sources
    barred = {alias for violation in case.violations for alias in violation.barred}
    barred |= {alias for doubt in case.doubts for alias in doubt.barred}
    found = [
        synopsis_of(case.reading, case.order, case.edges, source.alias)
        for source in sources
        if source.alias not in barred and len(sources) + len(case.covers) > 1
    ]
    return (*found, *(SynopsisForm(alias, (), counted=False, covered_by=by) for alias, by in case.covers))
