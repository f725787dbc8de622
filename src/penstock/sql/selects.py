"""SELECT, bound: streams and columns found, conditions understood, outputs named."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Mistake, QueryMistake, Refused
from penstock.model.clauses import Source
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.problem import InvalidModel, Problem
from penstock.model.query import Query
from penstock.model.query_rules import predicate_problem, window_problems
from penstock.model.relation import Block, Existence, FromTree, Join, Leaf, leaves
from penstock.model.stream import Stream
from penstock.sql.conditions import Conjuncts, WrittenExists, bind_condition
from penstock.sql.hints import bind_hints
from penstock.sql.outputs import GroupColumns, OutputBinder, Outputs
from penstock.sql.scope import NamedColumns, Scope
from penstock.sql.source import SourceText
from penstock.sql.tree import FromItem, FromPart, Insert, Select, Stretch


class SelectBinder:
    """Binds one query; `streams` are those of the script by folded name, None for one that is itself wrong."""

    def __init__(self, source: SourceText, streams: Mapping[str, Stream | None]) -> None:
        self.source = source
        self.streams = streams
        self.names = [folded if stream is None else stream.name for folded, stream in streams.items()]
        self.sources: dict[str, Source] = {}
        self.tables: dict[str, NamedColumns] = {}
        self.places: dict[str, Stretch] = {}
        self.missing: set[str] = set()
        """Folded aliases of streams that are unknown or wrong: what is said of them is passed over."""

    def report(self, message: str, at: Stretch, hint: str | None = None, kind: type[Mistake] = QueryMistake) -> None:
        """Remember a mistake of the query."""
        self.source.report(kind, message, at, hint=hint)

    def bind(self, written: Insert, name: str, sink: str | None) -> Query | None:
        """The query; None, and mistakes, if it cannot be."""
        before = len(self.source.mistakes)
        select = written.select
        items = _items(select.source)
        for item in items:
            self._add_source(item)
        known = {alias: self.tables[alias] for alias in self.sources}
        outer = Scope(self.source, known, missing=frozenset(self.missing))
        from_sources = tuple(self.sources.values())
        tree = self._tree(select.source, outer)
        condition = bind_condition(select.where, outer, may_exist=True)
        existences = [self._existence(e, outer) for e in condition.existences]
        where = self._predicates(condition, self.sources)
        binder = OutputBinder(outer)
        outputs = binder.outputs(select)
        group_by = binder.group_by(select)
        having = binder.having(select.having, group_by)
        hints = bind_hints(select.hints, outer)
        if self.missing or len(self.source.mistakes) > before:
            self._report_windows()
            return None
        groups = outputs.of_groups(having, select.at if select.having is None else select.having.around.at)
        try:
            held = tuple(e for e in existences if e is not None)
            block = Block(tree, groups.columns, where, held, select.distinct, group_by, groups.shown, having)
            return Query.select(name, from_sources, block, sink=sink, hints=hints)
        except InvalidModel as invalid:
            for problem in invalid.problems:
                at, hint = self._place(problem, select, outputs, groups), problem.hint
                if self.source.text[at.start : at.end].endswith("*"):
                    hint = "name the columns instead of *"
                self.report(problem.message, at, hint)
            return None

    def _report_windows(self) -> None:
        """What is wrong with the windows, where the query cannot be built for other reasons."""
        for source in self.sources.values():
            for problem in window_problems(source):
                self.report(problem.message, self.places[source.alias], problem.hint)

    def _place(self, problem: Problem, select: Select, outputs: Outputs, groups: GroupColumns) -> Stretch:
        subject = problem.subject
        if subject.kind == "source":
            return self.places.get(subject.name, select.at)
        places = {"output": groups.at, "shown": outputs.at}.get(subject.kind, ())
        if subject.index < len(places):
            return places[subject.index]
        return Stretch(select.at.start, select.at.start + len("SELECT"))

    # FROM

    def _add_source(self, item: FromItem) -> str | None:
        alias = item.alias.text if item.alias is not None else item.stream.text
        stream = self.streams.get(fold(item.stream.text))
        if stream is None:
            if fold(item.stream.text) not in self.streams:
                hint = self.source.guess(item.stream.text, self.names)
                self.report(f"unknown stream {item.stream.text}", item.stream.at, hint)
            # The mistakes of a stream that is wrong itself are reported where it is declared.
            self.missing.add(fold(alias))
            return None
        alias = item.alias.text if item.alias is not None else stream.name
        if any(fold(known) == fold(alias) for known in self.sources):
            at = item.alias.at if item.alias is not None else item.stream.at
            self.report(f"{alias} stands twice in the query", at, "give each its own alias: stream AS a")
            return None
        self.sources[alias] = Source(stream, alias, item.window)
        self.tables[alias] = NamedColumns.of(alias, stream)
        self.places[alias] = item.at
        return alias

    def _tree(self, part: FromPart, outer: Scope) -> FromTree:
        if isinstance(part, FromItem):
            return Leaf(self._alias_of(part))
        left, right = self._tree(part.left, outer), self._tree(part.right, outer)
        here = (*leaves(left), *leaves(right))
        seen = {alias: self.tables[alias] for alias in here if alias in self.tables}
        hidden = {
            fold(alias): "ON sees the two sides of its own join; put the condition into WHERE"
            for alias in outer.tables
            if alias not in seen
        }
        scope = Scope(self.source, seen, hidden=hidden, missing=frozenset(self.missing))
        predicates = self._predicates(bind_condition(part.on, scope), self.sources)
        return Join(part.kind, left, right, predicates)

    def _alias_of(self, item: FromItem) -> str:
        wanted = item.alias.text if item.alias is not None else item.stream.text
        return next((alias for alias in self.sources if fold(alias) == fold(wanted)), wanted)

    # Conditions

    def _predicates(self, condition: Conjuncts, sources: Mapping[str, Source]) -> tuple[Predicate, ...]:
        kept = []
        for predicate, at in condition.predicates:
            problem = predicate_problem(predicate, dict(sources))
            if problem is not None:
                self.report(problem.message, at, problem.hint)
            else:
                kept.append(predicate)
        return tuple(kept)

    def _existence(self, written: WrittenExists, outer: Scope) -> Existence | None:
        select = written.select
        if not isinstance(select.source, FromItem):
            advice = None if written.negated else "write one EXISTS for each stream, joined by AND"
            self.report("EXISTS takes one stream", written.at, advice, Refused)
            return None
        for clause, present in (("GROUP BY", bool(select.group_by)), ("a hint", bool(select.hints))):
            if present:
                self.report(f"{clause} inside EXISTS means nothing", written.at, kind=Refused)
        alias = self._add_source(select.source)
        if alias is None:
            return None
        inner = Scope(self.source, {alias: self.tables[alias]}, around=outer, missing=frozenset(self.missing))
        self._check_inner_items(select, inner)
        before = len(self.source.mistakes)
        condition = bind_condition(select.where, inner)
        readable = len(self.source.mistakes) == before
        if readable and not any(alias in {ref.alias for ref in p.columns} for p, _ in condition.predicates):
            self.report(
                f"nothing ties {alias} to the query around it",
                written.at,
                f"compare a column of {alias} with one of the outer streams in its WHERE",
            )
        return Existence(self.sources[alias], written.negated, self._predicates(condition, self.sources))

    def _check_inner_items(self, select: Select, inner: Scope) -> None:
        """What EXISTS selects does not matter, but its names must be right."""
        for item in select.items:
            if item.code is not None and not isinstance(item.code.node, exp.Literal):
                OutputBinder(inner).outputs(
                    Select((), False, (item,), select.source, None, (), item.at), need_names=False
                )


def _items(part: FromPart) -> list[FromItem]:
    return [part] if isinstance(part, FromItem) else [*_items(part.left), *_items(part.right)]
