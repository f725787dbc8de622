"""The stream that a block's answer is: what is declared of it, and what follows from below.

Each rule stands with its proof in the module that applies it: clocks by the frontier (derived_clocks.py), keys
(derived_keys.py), what holds of values (derived_values.py). What does not follow is not claimed, which is sound: a
stream of which less is known is closed later. Promises that a view declares are added to these and watched like those
of any stream; one that follows anyway is not stated twice.

Preconditions: the sources of the block have their own promises already (`check.py` goes from below). Not claimed yet:
closes of values (punctuations, keys that arrived), what counts rows, FOREIGN KEY, STREAM KEY.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.analysis.blocks.derived_clocks import FrontierClock, derived_clocks
from penstock.analysis.blocks.derived_keys import derived_keys
from penstock.analysis.blocks.derived_values import derived_conditions, derived_schemes, merged_bands
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Claim, Finding, Unclaimed, Verdict
from penstock.model.lineage import kept_event_time, lineage
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.schemes import Scheme
from penstock.model.stream import Stream
from penstock.records import record


@record
class Derived:
    """A block's answer as a stream."""

    stream: Stream
    claims: tuple[Claim, ...]
    clocks: tuple[FrontierClock, ...]
    unclaimed: tuple[Unclaimed, ...]


def derived_stream(declared: Stream, query: Query, verdict: Verdict | None) -> Derived:
    """The stream of a block; `declared` has its name, its columns, and what the view says of it.

    Without a verdict nothing is known of clocks.
    """
    known = lineage(query)
    event_time = declared.event_time or kept_event_time(query)
    clocks: list[FrontierClock] = []
    claims: list[Claim] = []
    unclaimed: list[Unclaimed] = []
    for found in () if verdict is None else derived_clocks(query, known, _findings(verdict)):
        if isinstance(found, Unclaimed):
            unclaimed.append(found)
        else:
            claims.append(found[0])
            clocks.append(found[1])
    facts = Facts(query)
    claims += derived_keys(facts, known)
    claims += derived_schemes(query, known, event_time)
    claims += merged_bands(query, event_time)
    conditions = list(derived_conditions(facts, known))
    stated = {scheme.text for scheme in declared.schemes}
    schemes = _each_once(c.promise for c in claims if isinstance(c.promise, Scheme) and c.promise.text not in stated)
    held = tuple(dict.fromkeys(c.promise for c in conditions if isinstance(c.promise, Predicate)))
    stream = replace(
        declared,
        event_time=event_time,
        schemes=(*declared.schemes, *schemes),
        where=(*declared.where, *(p for p in held if p not in declared.where)),
    )
    return Derived(stream, (*claims, *conditions), tuple(clocks), tuple(unclaimed))


def _findings(verdict: Verdict) -> dict[str, Finding]:
    return {entry.alias: entry.finding for entry in verdict.streams}


def _each_once(schemes: Iterable[Scheme]) -> tuple[Scheme, ...]:
    return tuple({scheme.text: scheme for scheme in schemes}.values())
