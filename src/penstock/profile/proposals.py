"""Which ideas become proposals, what each saves, and in which order they are shown.

Each proposal is replayed alone, on top of what is declared; then once more on top of all that come before it, in the
order of their savings, for two that save the same rows do not save them twice. A proposal whose plan closes, merges
and keeps what the declared one does changes nothing, and is not replayed at all.

`bounding` says what to declare so that every query is bounded. A saving is measured over rows that came, and a bound is
about all that may come: a key lets rows go that have met their partner, but only a reference that is sure to be met, a
FOLLOWS or an order bounds how long the others stay. So the proposals with the largest savings may leave a query
unbounded that other measured constraints would bound. These are found here: all that every row keeps is declared beside
the proposals, and whatever is not needed is taken away again, the least specific last. What remains suffices, and
nothing of it can be left out; another set may be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.analysis.check import check_query
from penstock.model.schemes import Scheme
from penstock.model.script import Script
from penstock.plan.plan import Plan
from penstock.profile.declaring import Declaration, declares, declaring, subject_of, text_of
from penstock.profile.findings import ALL, AskedConstraint, Bounding, Looser, Proposal
from penstock.profile.replay import Replay, StateKept, plans_of
from penstock.spark.profiling.needs import LEVELS

Plans = Mapping[str, Plan]
_TIGHTER = 0.8
_LEAST = 0.005
"""A saving below this part of what is kept is noise of where batches are cut."""


class Candidate:
    """The declarations of an idea that are not made yet, level by level, and the plans they lead to."""

    def __init__(self, script: Script, facts: Sequence[AskedConstraint], fixed: Sequence[Declaration] = ()) -> None:
        self.facts = tuple(facts)
        self.by_level: dict[int, tuple[Declaration, ...]] = {}
        for level in range(len(LEVELS)):
            told = [(fact.stream.name, fact.declaration(level)) for fact in facts]
            new = [
                (name, scheme) for name, scheme in told if scheme is not None and not _is_declared(script, name, scheme)
            ]
            whole = all(scheme is not None for _, scheme in told)
            declarations = (*_last_of_each(new), *fixed)
            if whole and declarations and (level == ALL or self._is_tighter(level)):
                self.by_level[level] = declarations
        if ALL not in self.by_level:
            self.by_level = {}
        self.plans = {level: plans_of(declaring(script, new)) for level, new in self.by_level.items()}

    def _is_tighter(self, level: int) -> bool:
        """Whether some k is clearly smaller than the one that all rows keep."""
        pairs = [(fact.needs(level), fact.needs(ALL)) for fact in self.facts if fact.has_levels]
        return any(sum(few) < _TIGHTER * sum(all_of_them) for few, all_of_them in pairs)

    def broken(self, level: int) -> int:
        """Rows that break the declarations of a level."""
        return sum(fact.broken(level) for fact in self.facts)


def _last_of_each(declarations: Sequence[Declaration]) -> tuple[Declaration, ...]:
    """Of two about one subject the later one, which says more: a FOREIGN KEY with its window."""
    return tuple({(name, subject_of(scheme)): (name, scheme) for name, scheme in declarations}.values())


def _is_declared(script: Script, name: str, scheme: Scheme) -> bool:
    stream = script.stream(name)
    return stream is not None and declares(stream, scheme)


def candidates_of(
    script: Script, ideas: Sequence[Sequence[AskedConstraint]], checks: Sequence[Declaration]
) -> list[Candidate]:
    """The ideas that the data keeps and that say something new, each once."""
    found = [Candidate(script, facts) for facts in ideas]
    if checks:
        found.append(Candidate(script, (), checks))
    unique = {frozenset(map(text_of, c.by_level[ALL])): c for c in reversed(found) if c.by_level}
    return [c for c in found if c in unique.values()]


class ProposalRanking:
    """Replays candidates, and puts them in order."""

    def __init__(self, script: Script, replay: Replay, base: Plans, say: Callable[[str], None]) -> None:
        self.script = script
        self.replay = replay
        self.base = base
        self.say = say
        self.declared = replay.kept(base)
        """What is kept with what the script declares."""

    def proposals(self, candidates: Sequence[Candidate]) -> list[Proposal]:
        """The proposals with their savings, the largest first; what changes nothing comes last."""
        alone = []
        for number, candidate in enumerate(candidates, 1):
            self.say(f"replaying proposal {number} of {len(candidates)}: {_line(candidate.by_level[ALL])}")
            kept = self._kept(candidate.plans[ALL])
            looser = tuple(
                Looser(level, new, candidate.broken(level), self._kept(candidate.plans[level]))
                for level, new in candidate.by_level.items()
                if level != ALL
            )
            saves = _saving(self.declared, kept)
            alone.append(Proposal(candidate.by_level[ALL], candidate.facts, kept, saves, 0.0, looser))
        # Of two that save the same, the one with fewer declarations.
        alone.sort(key=lambda p: (-p.saves, len(p.declarations), _line(p.declarations)))
        return self._further(_without_supersets(alone))

    def _kept(self, plans: Plans) -> StateKept:
        return self.declared if _acts_alike(self.base, plans) else self.replay.kept(plans)

    def _further(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """What each saves on top of those before it."""
        taken: list[Declaration] = []
        standing, found = self.declared, []
        for proposal in proposals:
            if not proposal.saves:
                found.append(proposal)
                continue
            self.say(f"replaying on top of those before it: {_line(proposal.declarations)}")
            together = [*(d for d in taken if d not in proposal.declarations), *proposal.declarations]
            kept = self._kept(plans_of(declaring(self.script, together)))
            further = _saving(standing, kept)
            found.append(replace(proposal, saves_further=further))
            if further:
                standing, taken = kept, together
        return found


def _line(declarations: Sequence[Declaration]) -> str:
    return "; ".join(map(text_of, declarations))


def _acts_alike(base: Plans, other: Plans) -> bool:
    """Whether two sets of plans let the same rows go, whatever they watch."""
    return all(_moves(base[name]) == _moves(other[name]) for name in base)


def _moves(plan: Plan) -> tuple[object, ...]:
    merges = tuple((s.merge, s.filters, s.kept) for s in plan.sources)
    return plan.closers, plan.joint_closers, plan.agreements, merges, plan.in_arrival_order, plan.tree


def _saving(declared: StateKept, kept: StateKept) -> float:
    saved = declared.mean - kept.mean
    return saved if saved > _LEAST * declared.mean else 0.0


def _without_supersets(proposals: list[Proposal]) -> list[Proposal]:
    """Without those that save nothing more than another whose declarations are among theirs."""
    kept: list[Proposal] = []
    for proposal in proposals:
        smaller = [p for p in proposals if set(p.declarations) < set(proposal.declarations)]
        if not any(p.saves >= proposal.saves * (1 - _LEAST) for p in smaller):
            kept.append(proposal)
    return kept


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
