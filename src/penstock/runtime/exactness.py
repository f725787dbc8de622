"""Is the answer so far exact? What a query's metrics say of it, added up from its first batch on.

An answer is **exact** as long as it is that of the full history. What may make it otherwise is told by the counts of a
batch: rows that broke a promise on which ADAPT or TRUST went on (what it had let go is lost, and what it had called
final may be wrong), results known to be lost, rows that a budget evicted, rows given as unmatched that a late match
contradicts, files that vanished before it is known that they were read, and counts in place of joins. Rows that
QUARANTINE keeps out are no part of the answer, unless their stream is read in several places and only some keep them
out; RECOVER finds what was let go: they leave it exact. FAIL ends the run.

Once inexact, always inexact: the account lives as long as the checkpoint, and says since which batch. Batches whose
counts were never seen, because the run was killed between their end and the telling of it, count as not known.

The words of it are made in `explain/exactness_words.py`.

How many results a broken promise lost is known while what it let go is remembered (`plan/doubting.py`): else the
account says that nobody counted.

Not decided: promises that break without being seen. A bounded state cannot remember every key that ever came, so where
an answer rests on such a promise its line names it (`plan/watching.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.model.schemes import Policy
from penstock.plan.doubting import counts_losses
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import ORDERS, PromiseKind

_SEEN_BY_ALL = (PromiseKind.CHECK, *ORDERS)
"""What breaks these is the same wherever a stream is read: the row itself tells, or the order of its stream."""


@dataclass(frozen=True)
class Exactness:
    """What stands against a query's answer being exact, up to a batch."""

    through: int = -1
    """The last batch whose counts were seen."""
    since: int | None = None
    """The first batch whose answer may be wrong."""
    broken: Mapping[str, int] = field(default_factory=dict)
    """By constraint, the rows that broke it and were not kept out everywhere."""
    lost: int = 0
    evicted: int = 0
    contradicted: int = 0
    unknown: int = 0
    """Batches of which nothing was seen."""
    off_by: float = 0.0
    """The share by which counts in place of joins may be off."""
    uncounted: bool = False
    """Whether a promise broke of which nobody counts the results that it lost."""
    gone: int = 0
    """Files that were no longer there when their batch was done."""
    gone_first: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether nothing stands against it."""
        return self.since is None

    def then(self, plan: Plan, line: Mapping[str, Any]) -> Exactness:
        """With the metrics of one more batch."""
        broken = {c: n for c, n in line["violations"].items() if n and not _is_harmless(plan, c)}
        off_by = plan.rewriting.error_bound if plan.rewriting is not None else 0.0
        found = replace(
            self,
            through=line["batch"],
            broken={c: self.broken.get(c, 0) + broken.get(c, 0) for c in dict.fromkeys((*self.broken, *broken))},
            lost=self.lost + line["lost"],
            evicted=self.evicted + line["evicted"],
            contradicted=self.contradicted + line.get("contradicted", 0),
            off_by=off_by,
            uncounted=self.uncounted or any(not counts_losses(plan, constraint) for constraint in broken),
        )
        is_wrong = broken or line["lost"] or line["evicted"] or line.get("contradicted") or off_by
        return replace(found, since=line["batch"]) if is_wrong and self.since is None else found

    def without_files(self, batch: int, gone: Sequence[str]) -> Exactness:
        """With files of a batch that were no longer there when it was done."""
        if not gone:
            return self
        since = batch if self.since is None else self.since
        return replace(self, gone=self.gone + len(gone), gone_first=self.gone_first or gone[0], since=since)

    def unseen_upto(self, committed: int) -> Exactness:
        """With batches that were committed and whose counts nobody saw."""
        if committed <= self.through:
            return self
        since = self.through + 1 if self.since is None else self.since
        return replace(self, unknown=self.unknown + committed - self.through, through=committed, since=since)


def _is_harmless(plan: Plan, constraint: str) -> bool:
    """Whether the answer is that of the history, or of the history without the rows that broke a constraint."""
    promises = (p for block in plan.all_blocks for p in block.promises)
    policy = next((p.policy for p in promises if p.constraint == constraint), Policy.ADAPT)
    return policy is Policy.RECOVER or (policy is Policy.QUARANTINE and _is_kept_out_everywhere(plan, constraint))


def _is_kept_out_everywhere(plan: Plan, constraint: str) -> bool:
    """Whether a row that breaks a constraint is kept out of every place that reads its stream.

    What else is watched goes as far as the memory of each block and alias: one may keep out what another lets in.
    """
    watched = {(b.query, p.alias): p.kind for b in plan.all_blocks for p in b.promises if p.constraint == constraint}
    places = {(b.query, s.alias): s.stream for b in plan.all_blocks for s in b.sources}
    streams = {places[place] for place in watched}
    reading = {place for place, stream in places.items() if stream in streams}
    return len(reading) == 1 or (reading == set(watched) and all(kind in _SEEN_BY_ALL for kind in watched.values()))
