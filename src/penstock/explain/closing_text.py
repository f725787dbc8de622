"""When a row can go, in words: the closers of a plan as sentences."""

from __future__ import annotations

from penstock.model.expressions import ColumnRef
from penstock.model.spans import span_of_ticks
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
            ways.setdefault(closer.target, []).append(f"{when_closed(plan, closer)} ({'; '.join(closer.because)})")
    rules += [f"{target} is closed for a row: {', or '.join(texts)}" for target, texts in ways.items()]
    for joint in plan.joint_closers:
        partners = dict.fromkeys(ref.alias for refs in joint.partners for ref in refs)
        if source.alias in partners:
            rules.append(f"{joint.target} is closed for rows of {', '.join(partners)} that agree: {_together(joint)}")
    return rules


def when_closed(plan: Plan, closer: Closer) -> str:
    """What closes the target for a row, as the end of a sentence about the row."""
    target = closer.target
    match closer.kind:
        case CloserKind.BAND | CloserKind.ORDER:
            return _passed(plan, closer)
        case CloserKind.KEY:
            return f"the row of {target} that it names has arrived"
        case CloserKind.FOLLOWS if closer.rows == 0:
            return f"{target} was read past it" if plan.in_arrival_order else "at once"
        case CloserKind.FOLLOWS if closer.rows is None:
            return f"so many rows of {target} arrived after it as the k that is learned"
        case CloserKind.FOLLOWS:
            return f"{closer.rows} rows of {target} arrived after it"
        case CloserKind.PUNCTUATION:
            return f"a punctuation has closed its {_columns(target, closer.target_columns)}"
        case CloserKind.CLUSTER:
            return f"its {_columns(target, closer.target_columns)} has come, and {_others(closer.rows)} followed it"


def _passed(plan: Plan, closer: Closer) -> str:
    (ordered,), (start,) = closer.target_columns, closer.columns
    assert closer.excess is not None
    ticks = closer.excess.tightest.ticks
    kinds = {column.name: column.type for column in plan.by_alias[closer.target].read}
    span = span_of_ticks(abs(ticks), kinds[ordered].startswith(_INSTANTS))
    length = f" {'+' if ticks > 0 else '-'} {span}" if ticks else ""
    return f"{ColumnRef(closer.target, ordered)} has passed {ColumnRef(closer.source, start)}{length}"


def _others(rows: int | None) -> str:
    if rows is None:
        return "more others than the k that is learned"
    return f"more than {rows} others" if rows else "another"


def _together(joint: JointCloser) -> str:
    named = _columns(joint.target, joint.target_columns)
    return f"a punctuation has closed the {named} of its rows together ({joint.constraint})"


def _columns(alias: str, names: tuple[str, ...]) -> str:
    return ", ".join(str(ColumnRef(alias, name)) for name in names)
