"""The counts of a batch: numbers that ride along with the results, and the metrics made of them.

A cell gives its counts as one array of numbers whose meaning is fixed by the plan. They are added up over the cells, or
the largest is taken where every cell says the same: by Spark's `observe`, so that they show in Spark's own progress and
listeners too, or by `combined`. The fields of a line of metrics are a contract (DESIGN section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.plan.doubting import can_audit, may_contradict
from penstock.plan.memory_choice import cluster_memories, key_memories
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind
from penstock.runtime.budget.loss import recall_of
from penstock.runtime.group.stage import GroupStage
from penstock.runtime.input.batch import Metrics
from penstock.runtime.watched_rows import NOTHING, closings_told

TIMED = (PromiseKind.ORDERED_TIME, PromiseKind.FOLLOWS_TIME, PromiseKind.COOCCURS)
"""Promises whose k is a length of event time."""
_MICROSECONDS = 1_000_000

RULES = ("stateless", "in no result", "out of [ROWS]", "dead", "complete", "expanded", "merged", "matched", "settled")
"""The rules by which the core lets rows go."""

PARTS = ("known", "idle", "waited", "behind", "slowest")
"""What is told of the parts of a stream: how many there are and how many do not hold its clock back; for how many
batches with rows the slowest has given none, how far it is behind the latest, and which it is, if its name is a number.
"""

_UNKNOWN: dict[str, Any] = {"k": -1, "used": -1, "parts": -1, "clock": NOTHING, "oldest": (NOTHING, NOTHING, 0)}
"""What stands for a number that a cell does not know."""

LOSS = ("evicted", "needed", "lost", "emitted", "due", "variance")
"""What a budget cost, as the core counts it."""


@dataclass(frozen=True)
class Count:
    """One number: the field of the metrics, the key inside it if it has several, and how cells combine."""

    field: str
    key: str | None
    same_everywhere: bool
    width: int = 1
    """How many numbers it is; of several the largest are taken, the first that differs deciding."""
    is_least: bool = False
    """Whether the least of the cells counts: how far a stream has come, where each has widened its own k."""

    @property
    def name(self) -> str:
        """What `observe` calls it."""
        return self.field if self.key is None else f"{self.field}:{self.key}"


def vocabulary(plan: Plan) -> tuple[Count, ...]:
    """The counts of a plan, in the order of the array."""
    found = [Count("rows_out", None, False)]
    for alias in plan.aliases:
        found += [
            Count("rows_in", alias, True),
            Count("state_rows", alias, False),
            Count("state_tuples", alias, False),
        ]
        found += [Count("oldest", alias, True, 3), Count("clock", alias, True, is_least=True)]
    found += [Count(name, None, False) for name in ("pending_rows", "promise_rows", "state_bytes")]
    found.append(Count("fullest_cell", None, True))
    found += [Count("let_go", str(number), False) for number in range(len(closings_told(plan)))]
    found += [Count("purged", rule, False) for rule in RULES]
    for constraint in dict.fromkeys(p.constraint for p in plan.promises):
        found += [Count("violations", constraint, False), Count("k", constraint, True)]
    found += [Count("used", constraint, True) for constraint in _chosen(plan)]
    parted = dict.fromkeys(source.stream for source in plan.sources if source.parts is not None)
    found += [Count("parts", f"{what} {stream}", True) for stream in parted for what in PARTS]
    if plan.evict is not None:
        found += [Count(name, None, False) for name in LOSS]
    else:
        found.append(Count("lost", None, False))
    if may_contradict(plan):
        found.append(Count("contradicted", None, False))
    if plan.audit and can_audit(plan):
        found.append(Count("audited", None, False))
    return tuple(found)


def _chosen(plan: Plan) -> tuple[str, ...]:
    """The constraints whose promises are remembered only as long as that pays."""
    keys = {(m.closer.target, m.closer.target_columns) for m in key_memories(plan) if m.ends}
    clusters = {m.promise for m in cluster_memories(plan)}
    chosen = (
        p.constraint
        for p in plan.promises
        if p in clusters or (p.kind is PromiseKind.PRIMARY_KEY and (p.alias, p.columns) in keys)
    )
    return tuple(dict.fromkeys(chosen))


def counts_of(plan: Plan, metrics: Metrics) -> list[int]:
    """The array of a cell's batch; -1 for a k that is not in force, and for what is not chosen."""
    counts: list[int] = []
    for count in vocabulary(plan):
        of_budget = metrics.loss is not None and count.field in LOSS
        value = getattr(metrics.loss if of_budget else metrics, count.field)
        if count.key is not None:
            value = value.get(count.key, _UNKNOWN.get(count.field, 0))
        counts += map(int, value) if count.width > 1 else [int(value)]
    return counts


def second_stage_of(plan: Plan) -> str | None:
    """The name of the second stage where aliases stand; None if the query has none."""
    return "(groups)" if plan.aggregate is not None else "(distinct)" if plan.distinct else None


def second_vocabulary(stage: str) -> tuple[Count, ...]:
    """The counts of the second stage, in the order of its array."""
    return (
        Count("rows_out", None, False),
        Count("lost", None, False),
        Count("dropped", None, False),
        Count("state_rows", stage, False),
        Count("state_tuples", stage, False),
        Count("state_bytes", None, False),
    )


def second_counts_of(given: int, lost: int, stage: GroupStage) -> list[int]:
    """The array of one bucket's batch."""
    return [given, lost, stage.dropped, stage.live, stage.live, stage.nbytes]


def with_second_stage(stage: str, fields: dict[str, Any], observed: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of both stages: what comes out is what the second gives, what is stored or lost is so by both."""
    found = {count.name: int(observed.get(count.name) or 0) for count in second_vocabulary(stage)}
    stored = found[f"state_rows:{stage}"]
    return {
        **fields,
        "rows_out": found["rows_out"],
        "lost": fields["lost"] + found["lost"],
        "emitted": fields.get("emitted", 0) - found["dropped"],
        "state_rows": {**fields["state_rows"], stage: stored},
        "state_tuples": {**fields["state_tuples"], stage: stored},
        "state_bytes": fields["state_bytes"] + found["state_bytes"],
    }


def combined(counts: Sequence[Count], arrays: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What `observe` would give of the arrays of all cells."""
    found: dict[str, Any] = {}
    for count, start in placed(counts):
        if count.width > 1:
            found[count.name] = max(list(array[start : start + count.width]) for array in arrays)
        else:
            values = [array[start] for array in arrays]
            found[count.name] = (min if count.is_least else max if count.same_everywhere else sum)(values)
    return found


def placed(counts: Iterable[Count]) -> Iterator[tuple[Count, int]]:
    """Each count, and where its numbers begin in the array."""
    start = 0
    for count in counts:
        yield count, start
        start += count.width


def metrics_line(query: str, batch: int, known: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """One line of `run --metrics`, of what the cells and the second stage know."""
    recall, error = recall_of(known.get("emitted", 0), known.get("due", 0), known.get("variance", 0))
    return {
        "query": query,
        "batch": batch,
        "rows_in": known["rows_in"],
        "rows_out": known["rows_out"],
        "state_rows": known["state_rows"],
        "state_tuples": known["state_tuples"],
        "pending_rows": known["pending_rows"],
        "promise_rows": known["promise_rows"],
        "state_bytes": known["state_bytes"],
        "purged": known.get("purged", {}),
        "evicted": known.get("evicted", 0),
        "recall": recall,
        "recall_error": error,
        "violations": known.get("violations", {}),
        "malformed": known.get("malformed", {}),
        "lost": known.get("lost", 0),
        "k": known.get("k", {}),
        "seconds": seconds,
        "oldest": known.get("oldest", {}),
        "clock": known.get("clock", {}),
        "let_go": known.get("let_go", {}),
        "fullest_cell": known.get("fullest_cell", 0),
        # Only where a row may be given that a late match contradicts.
        **{name: known[name] for name in ("contradicted", "audited") if name in known},
        # Only where a stream has parts.
        **({"parts": known["parts"]} if known.get("parts") else {}),
        # Only where there is something to choose.
        **({"used": known["used"]} if known.get("used") else {}),
    }


def metrics_of(plan: Plan, observed: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `run --metrics` that the cells know, from what `observe` gave."""
    timed = {p.constraint for p in plan.promises if is_timed(plan, p.constraint)}
    fields: dict[str, Any] = {}
    told = closings_told(plan)
    for count in vocabulary(plan):
        value = observed.get(count.name)
        if count.width > 1:
            keyed = fields.setdefault(count.field, {})
            if value is not None and count.key is not None and value[0] != NOTHING:
                keyed[count.key] = _oldest(plan, count.key, value)
            continue
        value = _UNKNOWN.get(count.field, 0) if value is None else int(value)
        if count.key is None:
            fields[count.field] = value
            continue
        keyed = fields.setdefault(count.field, {})
        if count.field == "k":
            if value >= 0:
                keyed[count.key] = value / _MICROSECONDS if count.key in timed else value
        elif count.field == "parts":
            what, _, stream = count.key.partition(" ")
            if value >= 0:
                length = value / _MICROSECONDS if _is_instant_of(plan, stream) else value
                keyed.setdefault(stream, {})[what] = length if what == "behind" else value
        elif count.field == "clock":
            if value != NOTHING:
                keyed[count.key] = time_of(plan, count.key, value)
        elif count.field == "let_go":
            alias, promise = told[int(count.key)]
            if value:
                keyed.setdefault(alias, {})[promise] = value
        elif count.field == "used":
            if value >= 0:
                keyed[count.key] = bool(value)
        elif value or count.field not in ("purged", "violations"):
            keyed[count.key] = value
    return fields


def _oldest(plan: Plan, alias: str, value: Sequence[int]) -> dict[str, Any]:
    batch, time, waits = value
    found: dict[str, Any] = {"batch": -batch}
    if time != NOTHING:
        found["time"] = time_of(plan, alias, -time)
    return {**found, "waits_for": [other for number, other in enumerate(plan.aliases) if waits >> number & 1]}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(plan: Plan, alias: str, ticks: int) -> str | int:
    """An event time of a stream as the metrics have it: a moment of the calendar, where it is one, else the number."""
    if not _is_instant(plan, alias):
        return ticks
    try:
        return (_EPOCH + timedelta(microseconds=ticks)).isoformat().replace("+00:00", "Z")
    except OverflowError:  # Beyond the calendar of Python.
        return ticks


def is_timed(plan: Plan, constraint: str) -> bool:
    """Whether the k of a constraint is a time, told in seconds."""
    return any(p.constraint == constraint and p.kind in TIMED and _is_instant(plan, p.alias) for p in plan.promises)


def _is_instant_of(plan: Plan, stream: str) -> bool:
    return any(source.stream == stream and _is_instant(plan, source.alias) for source in plan.sources)


def _is_instant(plan: Plan, alias: str) -> bool:
    source = plan.by_alias[alias]
    kinds = {column.name: column.type for column in source.read}
    return kinds.get(source.event_time or "", "").startswith(("TIMESTAMP", "DATE"))
