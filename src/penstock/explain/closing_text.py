"""When a row can go, in words: the closers of a plan as sentences."""

from __future__ import annotations

from penstock.analysis.closings.between import passed_by
from penstock.analysis.closings.edges import counted
from penstock.analysis.reasons import Reason, WaitsUntil
from penstock.explain.reason_words import each_told, told
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.plan.plan import Closer, CloserKind, JointCloser, Plan, SourcePlan

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
