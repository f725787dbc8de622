"""What to declare so that every query is bounded, of what the data keeps.

A saving is measured over rows that came, and a bound is about all that may come: a key lets rows go that have met their
partner, but only a reference that is sure to be met, a FOLLOWS or an order bounds how long the others stay. So the
proposals with the largest savings may leave a query unbounded that other measured constraints would bound. These are
found here: all that every row keeps is declared beside the proposals, and whatever is not needed is taken away again,
the least specific last. What remains suffices, and nothing of it can be left out; another set may be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.analysis.check import check_query
from penstock.model.script import Script
from penstock.profile.declaring import Declaration, declaring, subject_of
from penstock.profile.facts import ALL, AskedConstraint
from penstock.profile.findings import Bounding, Proposal


def bounding(script: Script, proposals: Sequence[Proposal], facts: Sequence[AskedConstraint]) -> Bounding:
    """Find it."""
    taken = [d for proposal in proposals if proposal.saves_further for d in proposal.declarations]
    subjects = {(name, subject_of(scheme)) for name, scheme in taken}
    kept = [(fact.stream.name, scheme) for fact in facts if (scheme := fact.declaration(ALL)) is not None]
    others = {(name, subject_of(scheme)): (name, scheme) for name, scheme in kept}
    more = [declaration for subject, declaration in others.items() if subject not in subjects]

    def suffices(some: Sequence[Declaration]) -> bool:
        return _is_bounded(declaring(script, [*taken, *some]))

    is_declared = _is_bounded(script)
    if is_declared or not suffices(more):
        return Bounding(is_declared, () if is_declared else None)
    return Bounding(is_declared, _least(more, suffices))


def _is_bounded(script: Script) -> bool:
    return all(check_query(query).verdict == "bounded" for query in script.queries)


def _least(
    declarations: Sequence[Declaration], suffices: Callable[[Sequence[Declaration]], bool]
) -> tuple[Declaration, ...]:
    """Some of the declarations that suffice, and none of which can be left out."""
    left = list(declarations)
    for one in reversed(declarations):
        fewer = [d for d in left if d != one]
        if suffices(fewer):
            left = fewer
    return tuple(left)
