"""Columns that two sides of a join share: what USING and NATURAL say of them, and the one column that they become.

`USING (x)` says that both are equal, and x is the left one, the right one for a RIGHT JOIN, and whichever is there for
a FULL JOIN. Two windows are equal if both their ends are. The same equality is what IN compares by.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.clauses import TimeWindow
from penstock.model.expressions import Call, ColumnRef, Expression, Literal, Term
from penstock.model.names import fold
from penstock.model.predicates import PART, Comparison, Op, Opaque, Predicate, Residual
from penstock.model.term_types import common_type
from penstock.sql.from_parts import Part
from penstock.sql.scope import Visible
from penstock.sql.tree import WrittenJoin


def all_columns(side: Part) -> list[Visible]:
    """What can be named of a side without an alias, each once."""
    merged = {fold(column.name) for column in side.merged}
    rest = [c for table in side.tables.values() for c in table.carried if fold(c.name) not in merged]
    return [*side.merged, *rest]


def equality(left: ColumnRef | Expression, right: ColumnRef | Expression) -> Predicate:
    """`left = right`."""
    if isinstance(left, ColumnRef) and isinstance(right, ColumnRef):
        return Comparison(left, Op.EQ, right)
    terms, columns, texts, skeleton = list[Term](), set[ColumnRef](), [], list[Term]()
    parts = [side for side in (left, right) if isinstance(side, Expression)]
    for side in (left, right):
        is_column = isinstance(side, ColumnRef)
        terms.append(side if isinstance(side, ColumnRef) else side.term)
        columns |= {side} if isinstance(side, ColumnRef) else set(side.columns)
        texts.append(str(side) if is_column else f"({side})")
        skeleton.append(side if isinstance(side, ColumnRef) else Call(PART, (Literal(parts.index(side)),)))
    text = " = ".join(texts)
    whole = Expression(text, tuple(sorted(columns)), Call("=", tuple(terms)))
    if len({ref.alias for ref in columns}) == 1:
        return Opaque(whole, text)
    return Residual(whole, text, tuple(parts), Call("=", tuple(skeleton)))


def equalities(mine: Visible, theirs: Visible) -> list[Predicate]:
    """What USING says of two columns."""
    if mine.ends is not None and theirs.ends is not None:
        if _are_alike(mine.window, theirs.window):
            return [equality(mine.ends[0], theirs.ends[0])]
        return [equality(*both) for both in zip(mine.ends, theirs.ends, strict=True)]
    return [equality(mine.value, theirs.value)]


def _are_alike(one: TimeWindow | None, other: TimeWindow | None) -> bool:
    """Whether one end tells which window it is: both are windows of one length that begin alike."""
    return one is not None and other is not None and replace(one, column=other.column) == other


def merged_column(name: str, mine: Visible, theirs: Visible, kind: WrittenJoin) -> Visible:
    """The one column that two become."""
    if kind is not WrittenJoin.FULL:
        return replace(theirs if kind is WrittenJoin.RIGHT else mine, name=name)
    ends = None
    if mine.ends is not None and theirs.ends is not None:
        start, end = (_either(*sides) for sides in zip(mine.ends, theirs.ends, strict=True))
        ends = (start, end)
    return Visible(name, _either(mine.value, theirs.value), common_type([mine.type, theirs.type]), ends=ends)


def _either(left: ColumnRef | Expression, right: ColumnRef | Expression) -> Expression:
    """The one that is there."""
    sides = (left, right)
    terms = tuple(side if isinstance(side, ColumnRef) else side.term for side in sides)
    columns = tuple(sorted({ref for s in sides for ref in ((s,) if isinstance(s, ColumnRef) else s.columns)}))
    texts = (str(side) if isinstance(side, ColumnRef) else f"({side})" for side in sides)
    return Expression(f"coalesce({', '.join(texts)})", columns, Call("coalesce", terms))
