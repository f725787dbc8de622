"""A script, its verdicts and its plans, as the reports are handed them."""

from __future__ import annotations

from typing import NamedTuple

import penstock
from penstock.analysis.finding import Verdict
from penstock.compile import judged, plan_of
from penstock.model.script import Script
from penstock.plan.plan import Plan

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts{1});"
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9"
EVIL = "<b>&\x1b[31m"


class Explained(NamedTuple):
    """What a report is made of."""

    script: Script
    verdicts: list[Verdict]
    plans: list[Plan]


def explained(text: str) -> Explained:
    """All that is known of a script."""
    script = penstock.parse(text)
    verdicts = [judged(query) for query in script.queries]
    return Explained(script, verdicts, [plan_of(q, v) for q, v in zip(script.queries, verdicts, strict=True)])


def ordered(select: str) -> Explained:
    """Two streams with clocks."""
    return explained(STREAM.format("a", ", ORDERED BY ts") + STREAM.format("b", ", ORDERED BY ts") + select)


def bare(select: str) -> Explained:
    """Two streams of which nothing is declared."""
    return explained(STREAM.format("a", "") + STREAM.format("b", "") + select)
