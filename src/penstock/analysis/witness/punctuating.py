"""Punctuation rows for a growing input: what could be closed of a block is closed, so that the input hides nothing.

For a stream whose row is in the block, its own values; for one that is waited for, the values that it shares with the
block and, in its other columns, those of the row that matches nothing. A WHEN is met where it compares columns with
constants by `=` or IN; of a scheme with any other WHEN no punctuation is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.analysis.facts.values import has_steps
from penstock.analysis.memory.lines import point_of
from penstock.analysis.witness.declarations_hold import Arrived, is_punctuation
from penstock.analysis.witness.witness_values import Layout
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, OneOf, Op
from penstock.model.schemes import Punctuated
from penstock.model.stream import Stream


def punctuations(
    layout: Layout, alias: str, met: Sequence[str], carried: frozenset[ColumnRef], block: int
) -> Iterator[Arrived]:
    """The punctuations that a stream makes about a block; `carried` are the nodes of the sources that are met."""
    stream = layout.query.by_alias[alias].stream
    if not any(isinstance(scheme, Punctuated) for scheme in stream.schemes):
        return
    for scheme in stream.schemes:
        if not isinstance(scheme, Punctuated):
            continue
        met_when = _met(stream, scheme)
        columns = [ColumnRef(alias, column) for column in scheme.columns]
        if met_when is None or any(ref not in layout.kinds or ref in layout.absent for ref in columns):
            continue
        values = {
            ref.column: layout.value(ref, block, half=alias not in met and layout.node(ref) not in carried)
            for ref in columns
        }
        time = stream.event_time
        if time is not None and ColumnRef(alias, time) in layout.kinds:
            values.setdefault(time, layout.value(ColumnRef(alias, time), block, half=alias not in met))
        if not set(values).isdisjoint(met_when):
            continue
        yield Arrived(stream, {**values, **met_when}, scheme)


def _met(stream: Stream, scheme: Punctuated) -> dict[str, object] | None:
    """Values that satisfy WHEN; None if none are known."""
    values: dict[str, object] = {}
    for predicate in scheme.when:
        match predicate:
            case Bound(column=ref, op=Op.EQ, constant=constant):
                kind = stream.type_of(ref.column)
                if kind is not None and has_steps(kind) and point_of(constant, kind) is None:
                    return None
                values[ref.column] = constant.value
            case OneOf(column=ref, constants=constants):
                values[ref.column] = constants[0].value
            case _:
                return None
    return values if is_punctuation(scheme, values) is True else None
