"""Views that declarations name: `FOREIGN KEY (a) REFERENCES v (b)`, where v is a view.

A declaration may name a stream that stands later in the script, and so it may name a view. But a view is bound over the
streams, and what it gives is known only then. So where a declaration names views, the script is bound twice: first
without the declarations that name views, which says what columns, types, keys and event time each view has; then whole,
with these views known.

Theorem: the first binding says of each view what the second does. The columns of a view, their types and its event time
follow from its SELECT and from the columns and event times of what it reads; keys that it states name no other stream.
None of these comes from a declaration that names another stream, so leaving those out changes nothing.

A view that a declaration names is a block of its own wherever it is read: the declaration is about its rows, which are
those of the stream below no more.

Not decided: views that read tables alone; these are no streams, and to name one is an error as it is of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from penstock.model.names import fold
from penstock.model.stream import Stream
from penstock.sql.dialect import read_statements
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.selects import QueryBinder
from penstock.sql.source import SourceText
from penstock.sql.tree import Constraint, CreateStream, CreateView, Statement

BindAll = Callable[[SourceText, list[Statement]], tuple[Environment, QueryBinder]]
"""What binds the statements of a script, and says what its names mean."""


def views_named(statements: Iterable[Statement]) -> frozenset[str]:
    """The folded names of the views that declarations of streams or of views name."""
    statements = tuple(statements)
    views = {fold(s.name.text) for s in statements if isinstance(s, CreateView)}
    return frozenset(views & {fold(name) for s in statements for name in _named_by(s)})


def answers_of_views(source: SourceText, named: frozenset[str], bind: BindAll) -> dict[str, Stream | None]:
    """What each of these views gives, by folded name; None for one that is wrong, which is said."""
    if not named:
        return {}
    apart = SourceText(source.text, source.file, source.own_functions)
    statements = [_without(statement, named) for statement in read_statements(apart)]
    environment, binder = bind(apart, statements)
    found: dict[str, Stream | None] = {}
    for name in sorted(named):
        view = environment.queries.get(name)
        if not isinstance(view, NamedQuery) or view.table is not None:
            continue  # A table, or nothing: said where it is named.
        before = len(apart.mistakes)
        made = binder.block(view)
        found[name] = None if made is None else made[1]
        if made is None:
            source.say_again(apart.mistakes[before:])
    return found


def _named_by(statement: Statement) -> Iterator[str]:
    if isinstance(statement, CreateStream | CreateView):
        for element in statement.elements:
            if isinstance(element, Constraint) and element.other is not None:
                yield element.other.text


def _without(statement: Statement, named: frozenset[str]) -> Statement:
    """A statement without the declarations that name one of these views."""
    if not isinstance(statement, CreateStream | CreateView):
        return statement
    left = tuple(
        element
        for element in statement.elements
        if not isinstance(element, Constraint) or element.other is None or fold(element.other.text) not in named
    )
    return statement if left == statement.elements else replace(statement, elements=left)
