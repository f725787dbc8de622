"""Joins of FROM: two parts, how they are joined, and what ON, USING and NATURAL say.

SEMI and ANTI JOIN are EXISTS and NOT EXISTS above the joins; like a WHERE, they can be moved there, or the part of FROM
is to be written as a query. A side that is a table is joined by Spark (`tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.model.clauses import Source
from penstock.model.expressions import Call, ColumnRef, Expression
from penstock.model.lineage import chosen_among
from penstock.model.names import fold, quoted
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, Join, JoinKind, Leaf
from penstock.model.schemes import Cooccurs, Follows, Scheme
from penstock.model.spans import Span
from penstock.sql.asked_in_joins import JoinQuestions, asks_in_on
from penstock.sql.conditions import bind_condition
from penstock.sql.environment import Environment
from penstock.sql.from_parts import Part, Position, alias_of, items_of
from penstock.sql.inlining import CannotInline
from penstock.sql.scope import Scalars, Scope, Visible
from penstock.sql.shared_columns import all_columns, equalities, merged_column
from penstock.sql.table_values import scalars_of
from penstock.sql.tables import TableBinder, table_side
from penstock.sql.tree import FromJoin, Stretch, WrittenJoin

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

_KINDS = {
    WrittenJoin.INNER: JoinKind.INNER,
    WrittenJoin.LEFT: JoinKind.LEFT,
    WrittenJoin.RIGHT: JoinKind.RIGHT,
    WrittenJoin.FULL: JoinKind.FULL,
}
_JOINED_LATER = "it is joined after the streams; put the condition into WHERE"
_JOINED_IN_A_QUERY = (
    "it is joined after the streams; put these and the table into a query of their own: "
    "(SELECT … FROM a JOIN b ON … JOIN t ON …) AS x"
)


class JoinBinder:
    """Binds the joins of one FROM."""

    def __init__(self, binder: FromBinder) -> None:
        self.binder = binder
        self.source = binder.source

    def joined(
        self, written: FromJoin, position: Position, environment: Environment, inside: str | None
    ) -> Part | None:
        """A join, bound."""
        if (side := table_side(written, environment, self.binder.queries)) is not None:
            item, table = side
            is_left = item is written.left
            other, here = written.right if is_left else written.left, position.sides(written.kind)[is_left]
            # Columns of several streams meet a table only as those of one query.
            part = self.binder.part_of(
                other, replace(here, is_one=not isinstance(other, FromJoin)), environment, inside
            )
            if part is None:
                return None
            late = len(self.binder.late_tables)
            part = TableBinder(self.binder, written, item, table).joined(part, position)
            if len(self.binder.late_tables) > late and self.binder.is_inlining:
                del self.binder.late_tables[late:]
                raise CannotInline
            return part
        positions = position.sides(written.kind)
        is_filter = written.kind in (WrittenJoin.SEMI, WrittenJoin.ANTI)
        left = self.binder.part_of(written.left, positions[0], environment, inside)
        right = self.binder.part_of(written.right, positions[1], environment, inside)
        if left is None or right is None:
            return left or right
        self._refuse_twins(left, right, written)
        left = self._with_columns_of_its_own(left, right, written)
        questions = JoinQuestions(self, written, environment, position)
        condition = written.on
        if asks_in_on(written):
            answered = questions.asked(left, right)
            if answered is None:
                self.binder.missing |= {fold(alias) for alias in (*left.tables, *right.tables)}
                condition = None
            else:
                left, right, condition = answered
        # A row of ON is a row of each side.
        both = Part(Join(JoinKind.INNER, left.tree, right.tree, ()), {**left.tables, **right.tables})
        scope = self.scope_of(left, right, written.kind, scalars_of(self.binder, both, environment), questions.columns)
        on = list(self.binder.predicates(bind_condition(condition, scope)))
        merged = {fold(column.name): column for column in (*left.merged, *right.merged)}
        for name, mine, theirs in self.shared(left, right, written):
            on += equalities(mine, theirs)
            merged[fold(name)] = merged_column(name, mine, theirs, written.kind)
        lifted = (*left.where, *right.where), (*left.existences, *right.existences)
        columns = tuple(merged.values())
        if is_filter:
            return self._filtered(left, right, tuple(on), written, position)
        tree = Join(_KINDS[written.kind], left.tree, right.tree, tuple(on))
        return Part(tree, {**left.tables, **right.tables}, columns, *lifted)

    def _with_columns_of_its_own(self, left: Part, right: Part, written: FromJoin) -> Part:
        """The left side; as a block where USING compares what an outer join on it has made one of several columns.

        There it is a column, and has a clock if these have.
        """
        if not (written.using or written.natural):
            return left
        before = len(self.source.mistakes)
        compared = [mine.value for _, mine, _ in self.shared(left, right, written)]
        self.source.forget(before)
        if not any(isinstance(value, Expression) and len(chosen_among(value.term)) > 1 for value in compared):
            return left
        return self.binder.as_block(left, written.at, time=self._time_of_one(compared)) or left

    def _time_of_one(self, compared: list[ColumnRef | Expression]) -> Visible | None:
        """The time of whichever stream is there of those that a column is of, if each says when others match it."""
        for value in compared:
            refs = chosen_among(value.term) if isinstance(value, Expression) else ()
            sources = [self.binder.sources.by_alias[alias] for alias in dict.fromkeys(ref.alias for ref in refs)]
            times = [source.event_time for source in sources if says_when_others_match(source)]
            known = [time for time in times if time is not None]
            if len(sources) > 1 and len(known) == len(sources):
                text, term = f"coalesce({', '.join(map(str, known))})", Call("coalesce", tuple(known))
                kind = sources[0].stream.clock
                return Visible(text, Expression(text, tuple(sorted(known)), term), kind)
        return None

    def _refuse_twins(self, left: Part, right: Part, written: FromJoin) -> None:
        known = set(map(fold, left.tables))
        for alias in right.tables:
            if fold(alias) in known:
                item = next(i for i in reversed(items_of(written.right)) if fold(alias_of(i)) == fold(alias))
                at = item.alias.at if item.alias is not None else item.at
                self.binder.report(f"{alias} stands twice in the query", at, "give each its own alias: stream AS a")

    def scope_of(
        self,
        left: Part,
        right: Part,
        kind: WrittenJoin,
        scalars: Scalars | None = None,
        asked: Mapping[int, Visible] | None = None,
    ) -> Scope:
        """What ON sees."""
        seen = {**left.tables, **right.tables}
        known = set(map(fold, seen))
        hidden = {
            fold(alias): "ON sees the two sides of its own join; put the condition into WHERE"
            for alias in self.binder.all_aliases
            if fold(alias) not in known
        }
        for table in self.binder.late_tables:
            hidden[fold(table.alias)] = _JOINED_LATER if kind is WrittenJoin.INNER else _JOINED_IN_A_QUERY
        merged, missing = (*left.merged, *right.merged), frozenset(self.binder.missing)
        return Scope(self.source, seen, merged=merged, hidden=hidden, missing=missing, scalars=scalars, asked=asked)

    def _filtered(
        self, left: Part, right: Part, on: tuple[Predicate, ...], written: FromJoin, position: Position
    ) -> Part:
        kind = f"{written.kind} JOIN"
        if not isinstance(right.tree, Leaf) or right.where or right.existences:
            self.binder.report(
                f"{kind} takes one stream or one query", written.at, "write a query: (SELECT … FROM …)", Refused
            )
            return left
        if not position.lifts:
            self.binder.stop_inlining()
            hint = f"write it as a query of its own: (SELECT … FROM … {kind} …) AS x"
            self.binder.report(f"{kind} cannot stand on this side of an outer join", written.at, hint, Refused)
            return left
        partner = self.binder.sources.by_alias[right.tree.alias]
        existence = Existence(partner, written.kind is WrittenJoin.ANTI, on)
        return replace(left, existences=(*left.existences, existence))

    def shared(self, left: Part, right: Part, written: FromJoin) -> list[tuple[str, Visible, Visible]]:
        """The columns of USING, or those that NATURAL finds in both sides."""
        if written.natural:
            theirs = {fold(column.name) for column in all_columns(right)}
            names = [(c.name, written.at) for c in all_columns(left) if fold(c.name) in theirs]
        else:
            names = [(name.text, name.at) for name in written.using]
        found = []
        for text, at in names:
            mine, other = (self._one(side, text, at) for side in (left, right))
            if mine is not None and other is not None:
                found.append((mine.name, mine, other))
        return found

    def _one(self, side: Part, name: str, at: Stretch) -> Visible | None:
        found = [column for column in all_columns(side) if fold(column.name) == fold(name)]
        if len(found) != 1:
            what = "ambiguous" if found else "not there"
            place = ", ".join(quoted(alias) for alias in side.tables)
            hint = None if found else self.source.guess(name, [column.name for column in all_columns(side)])
            self.binder.report(f"column {name} is {what} on the side of {place}", at, hint)
            return None
        return found[0]


def says_when_others_match(source: Source) -> bool:
    """Whether a stream, or those that a block joins, says how far in time rows of others lie that match it."""
    below = source.below.sources if isinstance(source.below, Query) else ()
    return any(map(_says_when, source.stream.schemes)) or (bool(below) and all(map(says_when_others_match, below)))


def _says_when(scheme: Scheme) -> bool:
    return isinstance(scheme, Cooccurs) or (isinstance(scheme, Follows) and isinstance(scheme.within, Span))
