"""Which columns of a job's relations are needed above them: no others are declared, read or stored.

Going down from what is asked of the top: a join needs what is needed of it and what its condition reads; a projection
and a group what is worked out of them; DISTINCT needs every column below, since each tells rows apart; a union the same
places of every member. A relation of which nothing is needed (its rows are counted, or ask whether there are any) keeps
one column. Tables keep all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
)

_Outputs = tuple[tuple[JobColumn, JobExpression], ...]


def pruned(relation: JobRelation, needed: Iterable[int], read: dict[int, set[int]]) -> JobRelation:
    """The relation without columns that nobody needs; what leaves are read of is noted by source and place."""
    wanted = frozenset(needed)
    match relation:
        case JobLeaf():
            used = {place for place, column in enumerate(relation.columns) if column.number in wanted}
            read.setdefault(relation.source, set()).update(used)
            return relation
        case JobFilter():
            child = pruned(relation.child, wanted | _read_by(relation.conditions), read)
            return JobFilter(child, relation.conditions)
        case JobProject():
            outputs = _outputs(relation.outputs, wanted)
            return JobProject(pruned(relation.child, _read_by(text for _, text in outputs), read), outputs)
        case JobAggregate():
            outputs = _outputs(relation.outputs, wanted)
            below = _read_by((*relation.keys, *(text for _, text in outputs)))
            return JobAggregate(pruned(relation.child, below, read), relation.keys, outputs)
        case JobJoin():
            below = wanted | _read_by(relation.on)
            left, right = pruned(relation.left, below, read), pruned(relation.right, below, read)
            return JobJoin(relation.kind, left, right, relation.on)
        case JobLookup():
            return replace(relation, child=pruned(relation.child, wanted | _read_by(relation.on), read))
        case JobDistinct():
            return JobDistinct(pruned(relation.child, (c.number for c in relation.columns), read))
        case JobUnion():
            places = [p for p, column in enumerate(relation.columns) if column.number in wanted] or [0]
            members = tuple(_by_place(member, places, read) for member in relation.members)
            return JobUnion(members, tuple(relation.columns[place] for place in places))


def _by_place(member: JobRelation, places: list[int], read: dict[int, set[int]]) -> JobRelation:
    """A member of a union with the columns of these places, in their order."""
    shown = [member.columns[place] for place in places]
    child = pruned(member, (column.number for column in shown), read)
    return JobProject(child, tuple((column, JobExpression.of(column)) for column in shown))


def _outputs(outputs: _Outputs, wanted: frozenset[int]) -> _Outputs:
    return tuple(one for one in outputs if one[0].number in wanted) or outputs[:1]


def _read_by(expressions: Iterable[JobExpression]) -> frozenset[int]:
    return frozenset(number for expression in expressions for number in expression.columns)
