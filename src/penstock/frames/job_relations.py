"""What was read of a job's plan: relations over leaves that Spark reads, with expressions as Spark SQL.

A closed sum type, as Spark's own plan is: leaf, filter, projection, join, rows looked up in a table, groups, distinct
rows, union. Columns are known by a number (Spark's expression id), which stands once in a plan whatever the names are.
In the text of an expression the column 7 is spelt `penstock_column_7`: a name that Spark can resolve, so that whoever
read the expression could ask Spark whether the text means the same, and that is replaced by the name that the column
has in the script.

Not decided here: whether a text means what Spark's expression meant. Whoever builds these values has made sure of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SPELT = re.compile(r"`?\bpenstock_column_(\d+)\b`?")


def placeholder(number: int) -> str:
    """How a column is spelt in the text of an expression."""
    return f"penstock_column_{number}"


@dataclass(frozen=True)
class JobColumn:
    """A column of a plan."""

    number: int
    name: str
    type: str
    """In Spark's SQL."""
    delay: int | None = None
    """The milliseconds of a watermark on it."""


@dataclass(frozen=True)
class JobExpression:
    """A deterministic expression over the columns of one row, or of one group."""

    text: str

    @classmethod
    def of(cls, column: JobColumn) -> JobExpression:
        """The column itself."""
        return cls(placeholder(column.number))

    @property
    def columns(self) -> frozenset[int]:
        """The columns that it reads."""
        return frozenset(int(number) for number in _SPELT.findall(self.text))

    @property
    def column(self) -> int | None:
        """The column that it is, if it is no more than that."""
        found = _SPELT.fullmatch(self.text)
        return None if found is None else int(found[1])

    def spelt(self, names: Mapping[int, str]) -> str:
        """The text with the names that columns have."""
        return _SPELT.sub(lambda found: names[int(found[1])], self.text)


@dataclass(frozen=True)
class JobLeaf:
    """What Spark reads itself: a sub-plan that keeps no state."""

    source: int
    """Which of the sub-plans: two leaves that read the same have the same, and their columns in the same places."""
    name: str
    columns: tuple[JobColumn, ...]


@dataclass(frozen=True)
class JobFilter:
    """The rows that satisfy all conditions."""

    child: JobRelation
    conditions: tuple[JobExpression, ...]

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """Those of its rows."""
        return self.child.columns


@dataclass(frozen=True)
class JobProject:
    """Columns worked out of each row."""

    child: JobRelation
    outputs: tuple[tuple[JobColumn, JobExpression], ...]

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """What is worked out."""
        return tuple(column for column, _ in self.outputs)


@dataclass(frozen=True)
class JobJoin:
    """A join; its kind as SQL has it: `INNER`, `LEFT OUTER`, `RIGHT OUTER`, `FULL OUTER`, `LEFT SEMI`, `LEFT ANTI`."""

    kind: str
    left: JobRelation
    right: JobRelation
    on: tuple[JobExpression, ...]

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """Those of both sides, or of the left one where the right is only asked."""
        return self.left.columns if self.kind in ("LEFT SEMI", "LEFT ANTI") else self.left.columns + self.right.columns


@dataclass(frozen=True)
class JobTable:
    """A table, which Spark reads itself."""

    number: int
    """Which of the tables of the job."""
    name: str
    columns: tuple[JobColumn, ...]


@dataclass(frozen=True)
class JobLookup:
    """Rows looked up in a table; the kind is `INNER`, `LEFT OUTER`, `LEFT SEMI` or `LEFT ANTI`."""

    kind: str
    child: JobRelation
    table: JobTable
    on: tuple[JobExpression, ...]

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """Those of the rows and of the table, or of the rows where the table is only asked."""
        is_asked = self.kind in ("LEFT SEMI", "LEFT ANTI")
        return self.child.columns if is_asked else self.child.columns + self.table.columns


@dataclass(frozen=True)
class JobAggregate:
    """One row for each group."""

    child: JobRelation
    keys: tuple[JobExpression, ...]
    outputs: tuple[tuple[JobColumn, JobExpression], ...]

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """What is shown of a group."""
        return tuple(column for column, _ in self.outputs)


@dataclass(frozen=True)
class JobDistinct:
    """Each row once."""

    child: JobRelation

    @property
    def columns(self) -> tuple[JobColumn, ...]:
        """Those of its rows."""
        return self.child.columns


@dataclass(frozen=True)
class JobUnion:
    """The rows of several relations; columns go by their places."""

    members: tuple[JobRelation, ...]
    columns: tuple[JobColumn, ...]


JobRelation = JobLeaf | JobFilter | JobProject | JobJoin | JobLookup | JobAggregate | JobDistinct | JobUnion


def tables_of(relation: JobRelation) -> tuple[JobTable, ...]:
    """The tables that are looked into, from left to right."""
    match relation:
        case JobLeaf():
            return ()
        case JobJoin():
            return tables_of(relation.left) + tables_of(relation.right)
        case JobUnion():
            return tuple(table for member in relation.members for table in tables_of(member))
        case JobLookup():
            return (*tables_of(relation.child), relation.table)
        case _:
            return tables_of(relation.child)


def leaves_of(relation: JobRelation) -> tuple[JobLeaf, ...]:
    """The leaves, from left to right."""
    match relation:
        case JobLeaf():
            return (relation,)
        case JobJoin():
            return leaves_of(relation.left) + leaves_of(relation.right)
        case JobUnion():
            return tuple(leaf for member in relation.members for leaf in leaves_of(member))
        case _:
            return leaves_of(relation.child)


def columns_of_leaves(relation: JobRelation) -> frozenset[int]:
    """The columns that are in every row what they are in their leaf, or NULL.

    Not those of groups, nor of unions, which Spark knows by the ids that they have in the first member.
    """
    match relation:
        case JobLeaf():
            return frozenset(column.number for column in relation.columns)
        case JobFilter() | JobDistinct() | JobLookup():
            return columns_of_leaves(relation.child)
        case JobProject():
            passed = frozenset(column.number for column, text in relation.outputs if text.column == column.number)
            return columns_of_leaves(relation.child) & passed
        case JobJoin():
            return columns_of_leaves(relation.left) | columns_of_leaves(relation.right)
        case JobAggregate() | JobUnion():
            return frozenset()
