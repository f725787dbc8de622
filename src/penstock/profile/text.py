"""A profile as text: what to declare, the largest saving first; then what is declared, and what else the data keeps."""

from __future__ import annotations

from penstock.explain.ink import Ink
from penstock.model.spans import span_of_ticks
from penstock.profile.declaring import text_of
from penstock.profile.findings import ALL, AskedConstraint, Profile, Proposal, Verified, percent


def profile_report(profile: Profile, ink: Ink) -> list[str]:
    """The lines of the report."""
    rows = ", ".join(f"{name} {count:,}" for name, count in profile.rows)
    lines = [f"{ink.strong('rows')}   {rows}"]
    if profile.replayed_rows:
        lines += ink.wrapped(
            f"{profile.kept.mean:,.0f} rows and promises are kept on average, {profile.kept.peak:,} at most, with what "
            f"is declared: the first {profile.replayed_rows:,} rows run through the core in {profile.replayed_batches} "
            "batches. A saving is how many less are kept on average with the proposal declared as well.",
            f"{ink.strong('state')}  ",
            "       ",
        )
    if profile.failed is not None:
        told = f"{profile.failed}; what was found before it stands below"
        lines += ink.wrapped(told, f"{ink.strong('failed')} ", "       ")
    for note in profile.notes:
        lines += ink.wrapped(note, f"{ink.strong('note')}   ", "       ")
    helping = [p for p in profile.proposals if p.saves]
    idle = [p for p in profile.proposals if not p.saves]
    lines += ["", ink.strong("declare, largest saving first")]
    for number, proposal in enumerate(helping, 1):
        lines += _proposal(number, proposal, profile, ink)
    if not helping and profile.failed is None:
        lines += ["  nothing that was measured would save state"]
    lines += _bounding(profile, ink)
    lines += _declared(profile, ink)
    if idle:
        lines += ["", ink.strong("kept by the data, and of no use to the queries as they stand: saves 0")]
        for proposal in idle:
            lines += ink.wrapped("; ".join(map(text_of, proposal.declarations)), "  - ", "    ")
    lines += _measured(profile, ink)
    return lines + _domains(profile, ink)


def _proposal(number: int, proposal: Proposal, profile: Profile, ink: Ink) -> list[str]:
    before = profile.kept.mean
    part = f"{100 * proposal.saves / before:.1f} %" if before else "0 %"
    further = "nothing" if not proposal.saves_further else f"{proposal.saves_further:,.0f}"
    head = f"saves {proposal.saves:,.0f} rows ({part}); on top of those above, {further}"
    lines = [f"  {number}  {ink.strong(head)}"]
    for declaration in proposal.declarations:
        lines += ink.wrapped(text_of(declaration), "       ", "         ")
    for fact in proposal.facts:
        lines += ink.wrapped(_evidence(fact, ALL), "       evidence  ", "                 ")
    for looser in proposal.looser:
        told = "; ".join(map(text_of, looser.declarations))
        lines += ink.wrapped(
            f"{percent(looser.level)} of the rows keep {told}: {looser.broken:,} break it; saves "
            f"{max(0.0, before - looser.kept.mean):,.0f}",
            "       or        ",
            "                 ",
        )
    return lines


def _bounding(profile: Profile, ink: Ink) -> list[str]:
    """Whether what is proposed bounds every query, and what else would."""
    if profile.bounding is None or profile.bounding.declared:
        return []
    if profile.bounding.more is None:
        return [
            "",
            *ink.wrapped("no constraint that was measured bounds every query; `penstock check` says why", "  ", "  "),
        ]
    if not profile.bounding.more:
        told = "every query is bounded once those are declared that save something on top of those above them"
        return ["", *ink.wrapped(told, "  ", "  ")]
    lines = ["", ink.strong("and so that every query is bounded, declare beside those that save on top of those above")]
    for declaration in profile.bounding.more:
        lines += ink.wrapped(text_of(declaration), "       ", "         ")
    return lines


def _evidence(fact: AskedConstraint, level: int) -> str:
    scheme = fact.declaration(level)
    told = "" if scheme is None else scheme.on(fact.stream.name)
    broken = fact.broken(level)
    return f"{fact.rows:,} rows seen, {'none breaks' if not broken else f'{broken:,} break'} {told}"


def _declared(profile: Profile, ink: Ink) -> list[str]:
    if not profile.declared and not profile.unverified:
        return []
    lines = ["", ink.strong("declared already")]
    for verified in profile.declared:
        mark = ink.mark("unbounded" if verified.violations else "bounded")
        lines += ink.wrapped(_verified(verified), f"  {mark} ", "    ")
    for constraint in profile.unverified:
        lines += ink.wrapped(f"{constraint}: not verified by profile", f"  {ink.mark('undecided')} ", "    ")
    return lines


def _verified(verified: Verified) -> str:
    broken = "none breaks it" if not verified.violations else f"{verified.violations:,} break it"
    text = f"{verified.constraint}: {verified.rows:,} rows seen, {broken}"
    if verified.needed is None:
        return text
    needed = (
        f"{verified.needed:,} ROWS"
        if verified.unit == "rows"
        else str(span_of_ticks(verified.needed, verified.instants))
    )
    return f"{text}; all rows keep WITHIN {needed}"


def _measured(profile: Profile, ink: Ink) -> list[str]:
    lines = ["", ink.strong("measured")]
    for fact in profile.facts:
        constraint = fact.questions[0].constraint
        if not fact.has_levels:
            named = f"{constraint.on(fact.stream.name)}: {fact.rows:,} rows seen, {fact.broken(ALL):,} break it"
            lines += ink.wrapped(named, "  ", "    ")
            continue
        if not fact.rows:
            lines += ink.wrapped(f"{constraint.on(fact.stream.name)}: no row to measure it by", "  ", "    ")
            continue
        levels = ", ".join(f"{percent(level)} {_within(fact, level)}" for level in range(len(fact.answers[0].needs)))
        lines += ink.wrapped(f"{constraint.on(fact.stream.name)}: {fact.rows:,} rows seen; {levels}", "  ", "    ")
    return lines


def _within(fact: AskedConstraint, level: int) -> str:
    scheme = fact.declaration(level)
    if scheme is None:
        return "too long to write"
    text = scheme.text
    cut = max(text.rfind(" WITHIN "), text.rfind(" WINDOW "))
    return text[cut + 1 :]


def _domains(profile: Profile, ink: Ink) -> list[str]:
    if not profile.domains:
        return []
    lines = ["", ink.strong("values of joined columns")]
    for domain in profile.domains:
        check = "" if domain.declaration is None else f"; {text_of(domain.declaration)}"
        span = "" if domain.values == 0 else f", {domain.least} to {domain.greatest}"
        text = f"{domain.stream}.{domain.column}: {domain.values:,} values{span}, {domain.nulls:,} NULL{check}"
        lines += ink.wrapped(text, "  ", "    ")
    return lines
