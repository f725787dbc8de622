"""Expressions over one stream that a query compares with another: columns that Spark derives before rows meet.

`lower(a.x) = lower(b.y)` is an equality of two columns, once each stream has a column of that expression. So a
condition that is an equality of two expressions, each over one stream, becomes a comparison of such columns: a key.
Where the two have different types both are brought to the one in which Spark compares them. A condition that the core
cannot evaluate as it is written may be one that it can once what is about one stream alone is a column; then it is
rewritten so; or it is a difference of times, written as a count of units, and is one from then on. What none of these
helps is left as it is: Spark evaluates it on joined rows, or it cannot stand where it does.

A derived column is of this query alone and stands under its own text, which names columns with the alias, as the
query does. Preconditions: the expression is known to be deterministic, and its type is known; where an outer join may
leave its stream out, the expression is NULL as soon as a column of it is, as the derived column then is. Not decided:
whether the column takes few or many values, which only Spark knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from penstock.model.clauses import Source
from penstock.model.core_terms import core_term
from penstock.model.days import with_columns, with_days
from penstock.model.expressions import (
    Call,
    Cast,
    ColumnRef,
    Expression,
    Literal,
    Term,
    columns_in,
    is_deterministic,
    is_strict,
)
from penstock.model.implied_bounds import exact_differences, implied_bounds
from penstock.model.names import fold
from penstock.model.predicates import PART, Comparison, Difference, Op, Predicate, Residual
from penstock.model.relation import Block, FromTree, Join, JoinKind, Leaf, certain
from penstock.model.stream import Column
from penstock.model.term_types import common_type, type_of
from penstock.model.types import DataType, Kind


def with_derived_columns(sources: tuple[Source, ...], block: Block) -> tuple[tuple[Source, ...], Block]:
    """The sources with the columns that the conditions of a block need, and the block over them."""
    there = certain(block.tree)
    maker = _ColumnMaker({s.alias: s for s in (*sources, *(e.source for e in block.existences))}, there)
    tree = maker.tree(block.tree)
    where = maker.all(block.where, there)
    conditions = [maker.all(e.condition, there | {e.source.alias}, decides=True) for e in block.existences]
    existences = tuple(
        replace(existence, source=maker.source(existence.source), condition=condition)
        for existence, condition in zip(block.existences, conditions, strict=True)
    )
    made = replace(block, tree=tree, where=where, existences=existences)
    return tuple(maker.source(source) for source in sources), made


@dataclass
class _ColumnMaker:
    sources: dict[str, Source]
    core: frozenset[str]
    """The aliases that stand in every row of the answer."""
    made: dict[str, list[Column]] = field(default_factory=dict)
    """By alias, the columns that were derived."""

    def source(self, source: Source) -> Source:
        """The source with its derived columns; a stream that is read twice has those of both."""
        name = source.stream.name
        kin = [alias for alias, other in self.sources.items() if other.stream.name == name]
        added = [column for alias in kin for column in self.made.get(alias, ())]
        if not added:
            return source
        return replace(source, stream=replace(source.stream, columns=(*source.stream.columns, *added)))

    def tree(self, tree: FromTree) -> FromTree:
        """A part of FROM with its conditions rewritten."""
        if isinstance(tree, Leaf):
            return tree
        there = certain(tree.left) | certain(tree.right)
        decides = tree.kind is not JoinKind.INNER or not there <= self.core
        return Join(tree.kind, self.tree(tree.left), self.tree(tree.right), self.all(tree.on, there, decides=decides))

    def all(
        self, predicates: Iterable[Predicate], there: frozenset[str], *, decides: bool = False
    ) -> tuple[Predicate, ...]:
        """Conditions rewritten; `there` are the streams that have a tuple in each row that they are asked of.

        `decides`: whether they say which rows match, so that the core has to evaluate them.
        """
        found: list[Predicate] = []
        for predicate in predicates:
            if decides and (exact := self._exact(predicate)):
                found += exact
            elif decides and isinstance(predicate, Residual) and (exact := self._of_days(predicate)):
                found += [*exact, *implied_bounds(predicate, self._type)]
            elif isinstance(predicate, Residual):
                found.append(self._rewritten(predicate) if _absent_is_null(predicate, there) else predicate)
                found += implied_bounds(predicate, self._type)
            else:
                found.append(predicate)
        return tuple(dict.fromkeys(found))

    def _exact(self, predicate: Predicate) -> tuple[Difference, ...]:
        """The differences of times that a condition is which only Spark could evaluate as it is written."""
        if not isinstance(predicate, Residual) or core_term(predicate.expression.term, self._type) is not None:
            return ()
        return exact_differences(predicate.expression.term, predicate.text or str(predicate), self._type)

    def _of_days(self, residual: Residual) -> tuple[Difference, ...]:
        """The differences of days that a condition is whose datediff counts those of times; each day is a column."""
        days: dict[Term, Expression] = {}
        term = with_days(residual.expression.term, self._type, days)
        names = {day: ColumnRef(one.columns[0].alias, self._name(one, None)) for day, one in days.items()}
        of_days = dict.fromkeys(names.values(), DataType.of(Kind.DATE))
        text = residual.text or str(residual)
        filled = with_columns(term, names)
        found = exact_differences(filled, text, lambda ref: of_days.get(ref) or self._type(ref)) if days else ()
        if not found or not all(map(self._derives, days.values())):
            return ()
        for day in days.values():
            self._column(day, None)
        return found

    def _rewritten(self, residual: Residual) -> Predicate:
        if (key := self._key(residual)) is not None:
            return key
        if core_term(residual.expression.term, self._type) is not None:
            return residual
        return self._taken_apart(residual) or residual

    def _key(self, residual: Residual) -> Comparison | None:
        """An equality of two expressions, each over one stream of its own."""
        match residual.skeleton:
            case Call(function="=", arguments=(left, right)):
                sides = [self._side(residual, side) for side in (left, right)]
            case _:
                return None
        one, other = sides
        if one is None or other is None or one.columns[0].alias == other.columns[0].alias:
            return None
        kinds = [type_of(side.term, self._type) for side in (one, other)]
        if kinds[0] is None or kinds[1] is None:
            return None
        common = None
        if not kinds[0].compares_with(kinds[1]):
            common = common_type(kinds)
            if common is None or not common.is_key:
                return None
        elif not kinds[0].is_key:
            return None
        refs = [self._column(side, common) for side in (one, other)]
        return None if refs[0] is None or refs[1] is None else Comparison(refs[0], Op.EQ, refs[1], residual.text)

    def _side(self, residual: Residual, side: Term) -> Expression | None:
        """A side of a comparison that is about one stream."""
        match side:
            case ColumnRef():
                return Expression(str(side), (side,), side)
            case Call(function=function, arguments=(Literal(value=int() as number),)) if function == PART:
                part = residual.parts[number]
                return part if len({ref.alias for ref in part.columns}) == 1 else None
            case _:
                return None

    def _taken_apart(self, residual: Residual) -> Residual | None:
        """The condition over columns that stand for what the core cannot evaluate; None if that does not help."""
        columns: dict[int, Term] = {}
        single = [len({ref.alias for ref in part.columns}) == 1 for part in residual.parts]
        wanted = [n for n, part in enumerate(residual.parts) if single[n] and core_term(part.term, self._type) is None]
        types = {number: type_of(residual.parts[number].term, self._type) for number in wanted}
        if not wanted or None in types.values() or not all(self._derives(residual.parts[n]) for n in wanted):
            return None
        names = {number: self._name(residual.parts[number], None) for number in wanted}
        for number, part in enumerate(residual.parts):
            columns[number] = ColumnRef(part.columns[0].alias, names[number]) if number in names else part.term
        term = _filled(residual.skeleton, columns)
        known = {columns[number]: types[number] for number in wanted}
        if core_term(term, lambda ref: known.get(ref) or self._type(ref)) is None:
            return None
        for number in wanted:
            self._column(residual.parts[number], None)
        return replace(residual, expression=replace(residual.expression, columns=columns_in(term), term=term))

    def _type(self, ref: ColumnRef) -> DataType | None:
        made = next((c.type for c in self.made.get(ref.alias, ()) if c.name == ref.column), None)
        source = self.sources.get(ref.alias)
        return made or (None if source is None else source.stream.type_of(ref.column))

    def _column(self, expression: Expression, cast_to: DataType | None) -> ColumnRef | None:
        """The column of an expression, new or known, in a type if it is given."""
        term = expression.term
        if isinstance(term, ColumnRef) and (cast_to is None or self._type(term) == cast_to):
            return term
        if not self._derives(expression):
            return None
        alias = expression.columns[0].alias
        name = self._name(expression, cast_to)
        known = self.made.setdefault(alias, [])
        if all(column.name != name for column in known):
            kind = cast_to or type_of(term, self._type)
            text = expression.text if cast_to is None else f"CAST({expression.text} AS {cast_to})"
            whole = term if cast_to is None else Cast(term, cast_to)
            known.append(Column(name, kind, Expression(text, expression.columns, whole), of_query=True))
        return ColumnRef(alias, name)

    def _derives(self, expression: Expression) -> bool:
        """Whether Spark can derive a column of it before the rows meet."""
        return is_deterministic(expression.term) and expression.columns[0].alias in self.sources

    def _name(self, expression: Expression, cast_to: DataType | None) -> str:
        text = expression.text if cast_to is None else f"CAST({expression.text} AS {cast_to})"
        stream = self.sources[expression.columns[0].alias].stream
        while stream.spelling(text) is not None or any(
            fold(column.name) == fold(text) and column.name != text
            for columns in self.made.values()
            for column in columns
        ):
            text += "_"
        return text


def _absent_is_null(residual: Residual, there: frozenset[str]) -> bool:
    """Whether what is about one stream is NULL where that stream is absent, as a column of it then is."""
    return all(part.columns[0].alias in there or is_strict(part.term) for part in residual.parts if part.columns)


def _filled(term: Term, parts: dict[int, Term]) -> Term:
    """A skeleton with its parts in place."""
    match term:
        case Call(function=function, arguments=(Literal(value=int() as number),)) if function == PART:
            return parts[number]
        case Call(arguments=arguments):
            return Call(term.function, tuple(_filled(argument, parts) for argument in arguments))
        case Cast(value=value):
            return Cast(_filled(value, parts), term.to)
        case _:
            return term
