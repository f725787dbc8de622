"""A profile as JSON: keys always there, always in this order (docs/profile.md says what they mean)."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.explain.verdict_json import plain_value
from penstock.profile.declaring import text_of
from penstock.profile.findings import ALL, AskedConstraint, Bounding, Profile, Proposal
from penstock.profile.replay import StateKept
from penstock.spark.profiling.needs import LEVELS, NumberMeaning

Json = Mapping[str, object]
_UNITS = {
    NumberMeaning.BROKEN: None,
    NumberMeaning.ROWS: "rows",
    NumberMeaning.TICKS: "ticks",
    NumberMeaning.BEFORE: "window",
    NumberMeaning.AFTER: "window",
}


def profile_object(profile: Profile) -> Json:
    """What `profile --json` prints."""
    return {
        "rows": dict(profile.rows),
        "replayed": {
            "rows": profile.replayed_rows,
            "batches": profile.replayed_batches,
            "kept": _kept(profile.kept),
        },
        "proposals": [_proposal(proposal) for proposal in profile.proposals],
        "bounding": None if profile.bounding is None else _bounding(profile.bounding),
        "declared": [
            {
                "constraint": v.constraint,
                "rows": v.rows,
                "violations": v.violations,
                "needed": v.needed,
                "unit": v.unit if v.needed is not None else None,
            }
            for v in profile.declared
        ],
        "unverified": list(profile.unverified),
        "measured": [_fact(fact) for fact in profile.facts],
        "domains": [
            {
                "stream": d.stream,
                "column": d.column,
                "values": d.values,
                "nulls": d.nulls,
                "least": plain_value(d.least),
                "greatest": plain_value(d.greatest),
                "declaration": None if d.declaration is None else text_of(d.declaration),
            }
            for d in profile.domains
        ],
        "failed": profile.failed,
        "notes": list(profile.notes),
    }


def _kept(kept: StateKept) -> Json:
    return {"mean": round(kept.mean, 1), "peak": kept.peak}


def _bounding(bounding: Bounding) -> Json:
    more = None if bounding.more is None else [text_of(d) for d in bounding.more]
    return {"declared": bounding.declared, "more": more}


def _proposal(proposal: Proposal) -> Json:
    return {
        "declarations": [text_of(d) for d in proposal.declarations],
        "saves": round(proposal.saves, 1),
        "saves_further": round(proposal.saves_further, 1),
        "kept": _kept(proposal.kept),
        "evidence": [{"rows": fact.rows, "violations": fact.broken(ALL)} for fact in proposal.facts],
        "looser": [
            {
                "percent": LEVELS[looser.level] / 10,
                "declarations": [text_of(d) for d in looser.declarations],
                "violations": looser.broken,
                "kept": _kept(looser.kept),
            }
            for looser in proposal.looser
        ],
    }


def _fact(fact: AskedConstraint) -> Json:
    return {
        "constraint": fact.questions[0].constraint.on(fact.stream.name),
        "unit": _UNITS[fact.questions[0].need],
        "rows": fact.rows,
        "levels": [
            {
                "percent": LEVELS[level] / 10,
                "needs": list(fact.needs(level)),
                "violations": fact.broken(level),
                "declaration": None if (scheme := fact.declaration(level)) is None else scheme.on(fact.stream.name),
            }
            for level in range(len(LEVELS) if fact.has_levels else 1)
        ],
    }
