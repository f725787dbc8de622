"""When a row can go, in words: the closers of a plan as sentences."""

from __future__ import annotations

from penstock.analysis.closings.between import passed_by
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import counted
from penstock.analysis.reasons import Reason, WaitsUntil
from penstock.explain.reason_words import each_told, told
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.plan.closer_plans import Closer, CloserKind, JointCloser
from penstock.plan.plan import Plan, SourcePlan
from penstock.records import record

_INSTANTS = ("DATE", "TIMESTAMP")


def purge_rules(plan: Plan, source: SourcePlan) -> list[str]:
    """What lets a stored row of a stream go."""
    rules = []
    if source.window_rows is not None:
        rules.append(f"a row is out of reach once {source.window_rows} more rows of {source.stream} arrived")
    ways: dict[str, list[str]] = {}
    for closer in plan.closers:
        if closer.source == source.alias:
            ways.setdefault(closer.target, []).append(
                f"{when_closed(plan, closer)} ({'; '.join(each_told(closer.because))})"
            )
    rules += [f"{target} is closed for a row: {', or '.join(texts)}" for target, texts in ways.items()]
    for joint in plan.joint_closers:
        partners = dict.fromkeys(ref.alias for refs in joint.partners for ref in refs)
        if source.alias in partners:
            rules.append(f"{joint.target} is closed for rows of {', '.join(partners)} that agree: {_together(joint)}")
    return rules


def when_closed(plan: Plan, closer: Closer) -> str:
    """What closes the target for a row, as the end of a sentence about the row: the words of the verdict's bounds."""
    return told(_wait(plan, closer))


def closed_once(plan: Plan, alias: str) -> dict[str, str]:
    """By other stream, what must happen before it is closed for a row, where something closes it."""
    ways: dict[str, list[str]] = {}
    for closer in plan.closers:
        if closer.source == alias:
            ways.setdefault(closer.target, []).append(when_closed(plan, closer))
    return {target: ", or ".join(dict.fromkeys(texts)) for target, texts in ways.items()}


@record
class ClosingArrow:
    """That streams are closed for the rows of one, and what must happen first."""

    source: str
    targets: tuple[str, ...]
    once: str
    certain: bool


def arrows_of(plan: Plan, graph: ClosingGraph) -> list[ClosingArrow]:
    """The closings from each stream to others, one for each pair, in the order of the plan.

    Of several ways the one that the verdict rests on, else one that closes every value, else the first. Streams that
    are closed by the same distance of their clocks from the row stand together.
    """
    best: dict[tuple[str, str], Closer] = {}
    for closer in plan.closers:
        pair = (closer.source, closer.target)
        if pair not in best or (closer.certain and not best[pair].certain):
            best[pair] = closer
    relied = {
        (alias, step.target): step.wait
        for alias in graph.aliases
        for step in graph.reach(alias).edges
        if step.sources == (alias,)
    }
    together: dict[tuple[str, bool, object], list[tuple[str, Reason]]] = {}
    for (source, target), closer in best.items():
        wait = relied.get((source, target)) if closer.certain else None
        wait = wait or _wait(plan, closer)
        same = wait.about[1:] if wait.kind in (WaitsUntil.PASSED, WaitsUntil.PASSED_BY) else target
        together.setdefault((source, closer.certain, (wait.kind, same)), []).append((target, wait))
    found = []
    for (source, certain, _), waits in together.items():
        first = waits[0][1]
        shared = first
        if len(waits) > 1:
            shared = Reason(first.kind, (tuple(wait.about[0] for _, wait in waits), *first.about[1:]))
        found.append(ClosingArrow(source, tuple(target for target, _ in waits), f"once {told(shared)}", certain))
    order = {alias: number for number, alias in enumerate(plan.aliases)}
    return sorted(found, key=lambda arrow: order[arrow.source])


def _wait(plan: Plan, closer: Closer) -> Reason:
    target = closer.target
    match closer.kind:
        case CloserKind.BAND | CloserKind.ORDER:
            (ordered,), (start,) = closer.target_columns, closer.columns
            assert closer.excess is not None
            kinds = {column.name: column.type for column in plan.by_alias[target].read}
            instants = kinds[ordered].startswith(_INSTANTS)
            ticks = closer.excess.tightest.ticks
            return passed_by(ColumnRef(target, ordered), ColumnRef(closer.source, start), ticks, instants)
        case CloserKind.KEY:
            return WaitsUntil.KEY_ARRIVED(target)
        case CloserKind.FOLLOWS if closer.rows == 0 and plan.in_arrival_order:
            return WaitsUntil.READ_PAST(target)
        case CloserKind.FOLLOWS:
            return counted(closer.rows, target)
        case CloserKind.PUNCTUATION:
            pairs = zip(closer.target_columns, closer.columns, strict=True)
            values = [WaitsUntil.IS(ColumnRef(target, own), ColumnRef(closer.source, other)) for own, other in pairs]
            return WaitsUntil.PUNCTUATED(target, values)
        case CloserKind.NEVER:
            return WaitsUntil.NEVER_MATCHED(target)
        case CloserKind.CLUSTER:
            return WaitsUntil.CLUSTER_ENDED(target, quoted(closer.target_columns[0]))


def _together(joint: JointCloser) -> str:
    named = _columns(joint.target, joint.target_columns)
    return f"a punctuation has closed the {named} of its rows together ({joint.constraint})"


def _columns(alias: str, names: tuple[str, ...]) -> str:
    return ", ".join(str(ColumnRef(alias, name)) for name in names)
