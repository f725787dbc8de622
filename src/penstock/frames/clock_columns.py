"""Columns that are worked out of a clock, where they are asked for: conditions and keys read the clock itself.

`withColumn("hour", date_trunc("hour", ts))` below a join is a column like any other to whoever meets it above, and
nothing ties it to the watermark of `ts`; in the condition itself it does. So the condition says what the column is. The
column has that value wherever both it and the clock are those of the stream: not above an outer join that may put NULL
in their place, nor above groups or unions, whose columns are others though Spark knows them by the same ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobLookup,
    JobProject,
    JobRelation,
    JobUnion,
    placeholder,
)

Outputs = tuple[tuple[JobColumn, JobExpression], ...]
_KEPT_SIDES = {"INNER": "both", "LEFT OUTER": "left", "LEFT SEMI": "left", "LEFT ANTI": "left", "RIGHT OUTER": "right"}


@dataclass(frozen=True)
class ClockColumns:
    """Which columns of a relation are clocks, or worked out of one."""

    clocks: frozenset[int] = frozenset()
    """The numbers of columns whose times are in order, more or less."""
    worked_out: Mapping[int, JobExpression | None] = field(default_factory=dict)
    """What columns are of clocks and others of the relation; None of those of which nobody can say how."""

    def __or__(self, other: ClockColumns) -> ClockColumns:
        """Those of two relations side by side."""
        return ClockColumns(self.clocks | other.clocks, {**self.worked_out, **other.worked_out})

    def said(self, text: JobExpression) -> JobExpression:
        """An expression over clocks where it is one over what is worked out of them."""
        found = {number: self.worked_out.get(number) for number in text.columns}
        names = {n: placeholder(n) if of is None else f"({of.text})" for n, of in found.items()}
        return JobExpression(text.spelt(names)) if any(found.values()) else text

    def unsaid(self, text: JobExpression) -> frozenset[int]:
        """The columns of an expression that are of a clock, nobody can say how."""
        return frozenset(n for n in text.columns if n in self.worked_out and self.worked_out[n] is None)


NO_CLOCKS = ClockColumns()


def clock_columns(relation: JobRelation, leaves: ClockColumns) -> ClockColumns:
    """What is known of the columns of a relation, by what is known of those of its leaves."""
    match relation:
        case JobLeaf():
            own = {column.number for column in relation.columns}
            known = {number: text for number, text in leaves.worked_out.items() if number in own}
            return ClockColumns(leaves.clocks & own, known)
        case JobFilter() | JobDistinct() | JobLookup():
            return clock_columns(relation.child, leaves)
        case JobProject():
            return _projected(relation, clock_columns(relation.child, leaves))
        case JobJoin():
            kept = _KEPT_SIDES.get(relation.kind, "none")
            left = clock_columns(relation.left, leaves) if kept in ("both", "left") else NO_CLOCKS
            right = clock_columns(relation.right, leaves) if kept in ("both", "right") else NO_CLOCKS
            return left | right
        case JobAggregate() | JobUnion():
            return NO_CLOCKS


def _projected(relation: JobProject, below: ClockColumns) -> ClockColumns:
    """The columns that are passed on, and those that are worked out here, by the names that they have above."""
    passed: dict[int, int] = {}
    for column, text in relation.outputs:
        if text.column is not None:
            passed.setdefault(text.column, column.number)
    names = {old: placeholder(new) for old, new in passed.items()}
    clocks = {column.number for column, text in relation.outputs if text.column in below.clocks}
    found: dict[int, JobExpression | None] = {}
    for column, text in relation.outputs:
        if below.unsaid(text):
            found[column.number] = None
            continue
        of = below.said(text) if text.column is None else below.worked_out.get(text.column)
        if of is not None and of.columns & below.clocks:
            found[column.number] = JobExpression(of.spelt(names)) if of.columns <= passed.keys() else None
    return ClockColumns(frozenset(clocks), found)


def projected(child: JobRelation, outputs: Outputs, leaves: ClockColumns) -> JobProject:
    """Columns of a relation; one whose clock is not passed on says what it is."""
    known = clock_columns(child, leaves)
    passed = {text.column for _, text in outputs}

    def said(text: JobExpression) -> JobExpression:
        of = None if text.column is None else known.worked_out.get(text.column)
        return text if of is None or of.columns <= passed else of

    return JobProject(child, tuple((column, said(text)) for column, text in outputs))
