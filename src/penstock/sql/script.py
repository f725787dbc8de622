"""From text to model: a whole script, or one constraint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from penstock.errors import DeclarationMistake, QueryMistake, ScriptErrors, SyntaxMistake
from penstock.model.clauses import Source
from penstock.model.names import fold
from penstock.model.problem import InvalidModel, Problem, Subject
from penstock.model.query import Query
from penstock.model.schemes import Scheme
from penstock.model.script import Script, reference_problems
from penstock.model.stream import Sink, Stream
from penstock.records import record
from penstock.sql.block_streams import Declared, Referred
from penstock.sql.constraints import ConstraintBinder, Outline
from penstock.sql.dialect import read_constraint, read_statements
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.into_sinks import bound_sinks, sink_of, writing_into
from penstock.sql.named_views import answers_of_views, views_named
from penstock.sql.row_limits import limits_in
from penstock.sql.selects import QueryBinder
from penstock.sql.source import SourceText
from penstock.sql.streams import BoundStream, StreamBinder
from penstock.sql.table_queries import reads_only_tables, table_of
from penstock.sql.tables import bound_tables
from penstock.sql.tree import (
    BrokenDeclaration,
    Constraint,
    CreateSink,
    CreateStream,
    CreateView,
    Insert,
    Statement,
    Stretch,
)

T = TypeVar("T")


def parse_script(
    text: str,
    file: str = "<script>",
    own_functions: Collection[str] | None = None,
    judge: Callable[[Source, tuple[Stream, ...]], Iterable[Problem]] | None = None,
) -> Script:
    """Read a script; raise ScriptErrors with all its mistakes if it has any.

    `own_functions`: those that its session has beside Spark's own; left out, it may have any. `judge` says what is
    wrong with the declarations of a view, by what follows from below: the analysis, which this room does not ask.
    """
    source = SourceText(text.removeprefix("\ufeff"), file, own_functions)
    statements = read_statements(source)
    named = views_named(statements)
    bound = _bound(source, statements, answers_of_views(source, named, _names_of))
    asked = [s for s in statements if isinstance(s, Insert)]
    queries = _queries(source, asked, bound.environment, bound.sinks, bound.binder)
    blocks = bound.declared_views()
    source.raise_if_any()
    if judge is not None:
        others = (*(s for s in bound.environment.streams.values() if s is not None), *(b.stream for b in blocks))
        for view in blocks:
            for problem in judge(view, others):
                at = bound.place_of(view, problem.subject)
                source.report(DeclarationMistake, problem.message, at, hint=problem.hint)
        source.raise_if_any()
    assert len(queries) == len(asked), "a query is missing, and nothing is said of it"
    return Script(
        tuple(s for s in bound.environment.streams.values() if s is not None),
        tuple(s for s in bound.sinks.values() if s is not None),
        tuple(queries),
        tuple(t for t in bound.environment.tables.values() if t is not None),
        tuple(block for block in blocks if fold(block.stream.name) in named),
    )


@record
class _Bound:
    """What the names of a script mean."""

    environment: Environment
    sinks: dict[str, Sink | None]
    binder: QueryBinder

    def declared_views(self) -> list[Source]:
        """The views of which something is declared, also where no query reads them."""
        views = [view for view in self.environment.queries.values() if view is not None and view.is_declared]
        made = [self.binder.block(view) for view in views if view.table is None]
        return [Source(one[1], one[1].name, below=one[0]) for one in made if one is not None]

    def place_of(self, view: Source, subject: Subject) -> Stretch:
        """Where a declaration of a view stands."""
        named = self.environment.queries[fold(view.stream.name)]
        assert named is not None
        return [element for element in named.elements if isinstance(element, Constraint)][subject.index].at


def _names_of(source: SourceText, statements: list[Statement]) -> tuple[Environment, QueryBinder]:
    bound = _bound(source, statements, {})
    return bound.environment, bound.binder


def _bound(source: SourceText, statements: list[Statement], answers: Mapping[str, Stream | None]) -> _Bound:
    """What the names of a script mean; `answers` are the views that its declarations may name."""
    broken = {
        kind: frozenset(fold(s.name) for s in statements if isinstance(s, BrokenDeclaration) and s.kind == kind)
        for kind in ("STREAM", "TABLE", "VIEW", "SINK")
    }
    sinks = bound_sinks(source, [s for s in statements if isinstance(s, CreateSink)], broken["SINK"])
    declared = [s for s in statements if isinstance(s, CreateStream) and not s.is_table]
    spellings = {name: sink.name if sink is not None else None for name, sink in sinks.items()}
    answers = {**dict.fromkeys(sorted(broken["VIEW"])), **answers}
    seen = {name: None if view is None else Outline.of(view) for name, view in answers.items()}
    bound = _streams(source, declared, broken["STREAM"], spellings, seen)
    streams = {name: one.stream if one is not None else None for name, one in bound.items()}
    every = {**answers, **streams}
    referred = Referred(every, sinks)
    for one in bound.values():
        if one is not None:
            referred.check(source, one)
    outlines = {name: None if stream is None else Outline.of(stream) for name, stream in every.items()}
    written = [s for s in statements if isinstance(s, CreateStream) and s.is_table]
    tables = dict.fromkeys(sorted(broken["TABLE"])) | bound_tables(source, written, {"stream": streams, "sink": sinks})
    views = [s for s in statements if isinstance(s, CreateView)]
    taken = {*streams, *sinks, *tables, *(fold(view.name.text) for view in views)}
    binder = QueryBinder(source, Declared(outlines, spellings, referred), taken, limits_in(statements))
    start = Environment(streams, dict.fromkeys(sorted(broken["VIEW"])), tables=tables)
    return _Bound(_views(source, views, start, sinks, binder, referred=frozenset(answers)), sinks, binder)


def _streams(
    source: SourceText,
    written: list[CreateStream],
    broken: frozenset[str],
    sinks: Mapping[str, str | None],
    views: Mapping[str, Outline | None],
) -> dict[str, BoundStream | None]:
    """By folded name; None for one that is declared, but wrong. `views` are those that declarations name."""
    declared: dict[str, CreateStream] = {}
    for statement in written:
        if fold(statement.name.text) in declared:
            source.report(DeclarationMistake, f"stream {statement.name.text} is declared twice", statement.name.at)
        else:
            declared[fold(statement.name.text)] = statement
    outlines: dict[str, Outline | None] = {**views, **dict.fromkeys(sorted(broken))}
    outlines |= {name: Outline.written(statement) for name, statement in declared.items()}
    bound: dict[str, BoundStream | None] = dict.fromkeys(sorted(broken))
    for name, one in declared.items():
        binder = StreamBinder(source, one, outlines, sinks)
        bound[name] = _shallow(source, one.name.at, binder.bind)
    return bound


def _shallow(source: SourceText, at: Stretch, bind: Callable[[], T | None]) -> T | None:
    """What is bound; None, and a mistake, if an expression is nested beyond Python's stack."""
    try:
        return bind()
    except RecursionError:
        source.report(SyntaxMistake, "an expression in this statement is nested too deeply", at)
        return None


def _views(
    source: SourceText,
    written: list[CreateView],
    environment: Environment,
    sinks: Mapping[str, Sink | None],
    binder: QueryBinder,
    *,
    referred: frozenset[str],
) -> Environment:
    """What names mean after all views; each sees those before it. `referred` are those that declarations name."""
    for statement in written:
        name = statement.name
        declared = (("stream", environment.streams), ("table", environment.tables), ("sink", sinks))
        kinds: tuple[tuple[str, Mapping[str, object]], ...] = (("view", environment.queries), *declared)
        twin = next((kind for kind, known in kinds if fold(name.text) in known), None)
        if twin is not None:
            same = "declared twice" if twin == "view" else f"the name of a {twin} too"
            source.report(DeclarationMistake, f"view {name.text} is {same}", name.at, hint="give it another name")
            continue
        named = NamedQuery(name, statement.query, environment, statement.columns, statement.elements, is_view=True)
        named.is_referred = fold(name.text) in referred
        if not reads_only_tables(statement.query, environment):
            named.is_wrong = _shallow(source, statement.at, partial(binder.bound, named)) is None
        else:
            _shallow(source, statement.at, partial(table_of, named, binder))
        environment = replace(environment, queries={**environment.queries, fold(name.text): named})
    return environment


def _queries(
    source: SourceText,
    written: list[Insert],
    environment: Environment,
    sinks: Mapping[str, Sink | None],
    binder: QueryBinder,
) -> list[Query]:
    queries = []
    into: Counter[str] = Counter()
    names: set[str] = set()
    for place, statement in enumerate(written, start=1):
        sink = sink_of(source, statement, sinks, environment)
        name = f"query_{place}"
        if statement.sink is not None:
            spelling = sink.name if sink is not None else statement.sink.text
            into[fold(spelling)] += 1
            count = into[fold(spelling)]
            name = spelling if count == 1 else f"{spelling}_{count}"
        if fold(name) in names:
            source.report(
                QueryMistake,
                f"two queries would be named {name}",
                statement.sink.at if statement.sink is not None else statement.at,
                hint="a query is named after its sink, or query_N; rename the sink",
            )
        names.add(fold(name))
        into_sink = sink.name if sink is not None else None
        bind = partial(binder.bind, statement.query, environment, name, into_sink)
        query = _shallow(source, statement.at, bind)
        if query is not None:
            queries.append(writing_into(source, query, sink, statement))
    return queries


def parse_constraint(text: str, script: Script) -> tuple[Stream, Scheme]:
    """Read `CONSTRAINT ON stream` against a script; raise ScriptErrors if it is wrong.

    The stream may be a view that a declaration names.
    """
    source = SourceText(text, "<constraint>")
    read = read_constraint(source)
    source.raise_if_any()
    assert read is not None
    written, name = read
    stream = next((s for s in script.referable if fold(s.name) == fold(name.text)), None)
    if stream is None:
        known = [s.name for s in script.referable]
        source.report(DeclarationMistake, f"unknown stream {name.text}", name.at, hint=source.guess(name.text, known))
        raise ScriptErrors(source.mistakes)
    outlines: dict[str, Outline | None] = {fold(s.name): Outline.of(s) for s in script.referable}
    sinks = {fold(s.name): s.name for s in script.sinks}
    scheme = ConstraintBinder(source, stream, outlines, sinks=sinks).scheme(written)
    source.raise_if_any()
    assert scheme is not None
    try:
        # On its own: asking about a constraint that is declared as well is no mistake.
        alone = replace(stream, schemes=(scheme,))
        problems = tuple(reference_problems(alone, script.referable, script.sinks))
    except InvalidModel as invalid:
        problems = invalid.problems
    for problem in problems:
        source.report(DeclarationMistake, problem.message, written.at, hint=problem.hint)
    source.raise_if_any()
    return stream, scheme
