"""Which columns of a block's answer are columns of its sources as they were, or ends of windows of their time?

What is known of a stream below is known above only of columns that came through unchanged. A column of the answer has
a **lineage** if it is a column of a source, grouped by or not, or the start or the end of a window: of one that is
grouped by, or that each row is in, beside which rows without a time are left out.
Everything else (expressions, aggregates, a window as a struct) has none.

The event time of a block's answer is the one that is declared of it, else the only event time that it keeps; the end of
a window of an event time counts as one, its start where the end is not given out. Where several are kept, none is
chosen. Not decided: expressions that happen to give the column itself.
"""

from __future__ import annotations

from penstock.model.clauses import Output, TimeWindow
from penstock.model.expressions import Call, ColumnRef, Expression, Term
from penstock.model.query import Query
from penstock.model.window_columns import window_of

CHOOSE = ("coalesce", "nvl", "ifnull", "greatest", "least")
"""Functions that give one of their arguments as it is, or NULL."""

Origin = ColumnRef | TimeWindow
"""A column of a source, or one end of a window of one."""


def lineage(query: Query) -> dict[str, Origin]:
    """By column of the answer, what it is of the sources; those that are none of theirs are left out."""
    found: dict[str, Origin] = {}
    for shown in query.answer:
        if not isinstance(shown, Output):
            continue
        match shown.value:
            case ColumnRef() as ref if not query.is_grouped or ref in query.sure_keys:
                found[shown.name] = ref
            case Expression(term=term) if not query.is_grouped and (own := window_of(term)) is not None and own.end:
                found[shown.name] = own
            case TimeWindow() as window if window.end is not None and window.whole in query.sure_keys:
                found[shown.name] = window
            case _:
                pass
    return found


def chosen_among(term: Term) -> tuple[ColumnRef, ...]:
    """The columns of which an expression is always one, or NULL: `coalesce(a.ts, b.ts)`; none where it is another."""
    match term:
        case Call(function=function, arguments=arguments) if function in CHOOSE:
            parts = [(part,) if isinstance(part, ColumnRef) else chosen_among(part) for part in arguments]
            return tuple(dict.fromkeys(ref for part in parts for ref in part)) if all(parts) else ()
        case _:
            return ()


def kept_event_time(query: Query) -> str | None:
    """The column of the answer that is its event time, where none is declared: the only one that it keeps."""
    known = lineage(query)
    kept = {name: origin for name, origin in known.items() if _is_event_time(query, origin)}
    ends = [name for name, origin in kept.items() if isinstance(origin, TimeWindow) and origin.end == "end"]
    starts = [name for name, origin in kept.items() if isinstance(origin, TimeWindow) and origin.end == "start"]
    chosen = ends or starts or list(kept)
    return chosen[0] if len(chosen) == 1 else None


def _is_event_time(query: Query, origin: Origin) -> bool:
    ref = origin if isinstance(origin, ColumnRef) else origin.column
    return query.by_alias[ref.alias].event_time == ref
