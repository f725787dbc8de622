"""What the reports say of counts in place of a join: done or on offer, by which rules, at which error."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.analysis.finding import RewriteFinding
from penstock.analysis.rewriting.count_queries import Rewriting
from penstock.explain.reason_words import each_told, told
from penstock.model.query import Query
from penstock.model.spans import span_of_ticks
from penstock.plan.counting import Observed, total

Item = tuple[str, Sequence[str]]
"""A label and its lines."""


def offer(finding: RewriteFinding) -> str | None:
    """One sentence for `check`, where counts could replace the join and do not."""
    if finding.rewriting is None or finding.offered is None:
        return None
    return f"the join could be replaced by counts, {_price(finding.rewriting)}: not done, for {told(finding.offered)}"


def counts_items(query: Query, finding: RewriteFinding, seen: Observed | None = None) -> list[Item]:
    """What `explain` shows; nothing for a query that has no counts or no join."""
    made = finding.rewriting
    if made is None:
        worth_saying = query.is_grouped and len(query.all_sources) > 1
        return [("not done", each_told(finding.because))] if worth_saying else []
    done = "yes" if finding.offered is None else f"an offer: {told(finding.offered)}"
    return [
        ("done", [done]),
        ("rules", each_told(finding.because)),
        ("error", _errors(made)),
        ("observed", _observed(made, seen)),
        (
            "watched",
            ["only rows too late for their window: counts cannot see what else is broken" + _but_sampled(query, made)],
        ),
        ("sql", made.sql.splitlines()),
    ]


def _price(made: Rewriting) -> str:
    if made.is_exact:
        return "exactly"
    return f"with an error of at most {percent(made.error_bound)} of the rows of {made.root} in a window"


def _errors(made: Rewriting) -> list[str]:
    if made.is_exact:
        return ["none: every match is in the window of its root"]
    reach, apart, period = (span_of_ticks(t, instants=True) for t in (made.reach, made.apart_reach, made.period))
    both = (
        f"at most {percent(made.apart_reach / made.period)} ({apart}) where {made.counted} and {made.removed} stray "
        "apart: their lags differ between the two ends of a window"
    )
    return [
        f"at most {percent(made.error_bound)} of the rows of {made.root} in a window ({reach} / {period}), "
        "if they come evenly",
        *([] if made.apart_reach == made.reach else [both]),
        "however they come: the limits of each window that WITH BOUNDS gives"
        + ("" if made.with_bounds else ", as ERROR(p PERCENT WITH BOUNDS)"),
    ]


def _observed(made: Rewriting, seen: Observed | None) -> list[str]:
    """What a run has measured, and whether it is worse than what was declared."""
    if seen is None:
        return []
    together = total(seen.error_observed, seen.error_violations)
    worse = "" if together <= made.error_bound else f": more than the declared {percent(made.error_bound)}"
    return [
        f"by the lags seen, at most {percent(seen.error_observed)} cross the end of a window",
        f"by the violations seen, at most {percent(seen.error_violations)} are miscounted "
        f"({seen.broken:,} of {seen.windows:,} windows have some)",
        f"together at most {percent(together)}{worse} (largest of {seen.windows:,} windows, "
        f"{seen.exceeded:,} above what was declared); of the answer itself at most {percent(seen.error_answer)}",
    ]


def _but_sampled(query: Query, made: Rewriting) -> str:
    if not made.with_bounds:
        return ""
    read = {source.stream for source in made.sources}
    unread = [source.alias for source in query.all_sources if source.stream.name not in read]
    but = f", but what {', '.join(unread)} would show is not seen, for nothing of it is read" if unread else ""
    return f"; a sample of entities is joined to measure lags and violations{but}"


def percent(share: float) -> str:
    """A share as a percentage of a few digits, never less than it is: ERROR of what is shown allows it."""
    return f"{math.ceil(round(10_000 * share, 6)) / 100:.2f}".rstrip("0").rstrip(".") + " %"
