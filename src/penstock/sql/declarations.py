"""The grammar of CREATE STREAM and CREATE SINK.

A mistake in one element of a stream does not hide those in the next: it is remembered, and reading goes on after the
comma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.errors import SyntaxMistake
from penstock.model.names import nearest
from penstock.model.schemes import Policy
from penstock.model.stream import MalformedPolicy
from penstock.model.types import TYPE_NAMES
from penstock.sql.cursor import UNITS, Stop
from penstock.sql.storage import StorageGrammar
from penstock.sql.tree import (
    ArrivesBy,
    BrokenColumn,
    ColumnDefinition,
    Constraint,
    CreateSink,
    CreateStream,
    CreateView,
    Element,
    EventTime,
    MalformedClause,
    Name,
    PartsBy,
    Stretch,
    TypeText,
    ViolationClause,
)

_AFTER = ("WITHIN", "WINDOW", "WHEN", "LIFESPAN", "ON", "VIOLATION", "ROWS", *UNITS)
"""Words that may follow inside a constraint."""

_OPENINGS = (
    "EVENT TIME",
    "ARRIVES BY",
    "PARTS BY",
    "PRIMARY KEY",
    "ORDERED BY",
    "CLUSTERED BY",
    "FOREIGN KEY",
    "STREAM KEY",
    "PUNCTUATED ON",
    "FOLLOWS",
    "COOCCURS",
    "CHECK",
    "ON MALFORMED",
)
"""What a constraint begins with."""

_OF_OTHERS = {
    "BOOL": "BOOLEAN",
    "BYTES": "BINARY",
    "DATETIME": "TIMESTAMP",
    "FLOAT64": "DOUBLE",
    "INT64": "BIGINT",
    "NUMBER": "DECIMAL",
    "TEXT": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
}
"""Types of other systems, and what Spark calls them."""


_KEYED = "CREATE SINK out (PRIMARY KEY (id)) USING delta …"


class DeclarationGrammar(StorageGrammar):
    """CREATE STREAM, CREATE SINK, and a single constraint as `implies` reads it."""

    def create(self) -> CreateStream | CreateSink | CreateView:
        """After CREATE."""
        index = self._index - 1
        if self.words("STREAM"):
            return self._create_stream(index)
        if self.words("SINK"):
            return self._create_sink(index)
        if self.words("TABLE"):
            return replace(self._create_stream(index, "table"), is_table=True)
        if self.words("OR", "REPLACE"):
            self.stop("each name is declared once", self.stretch_from(index), hint="leave OR REPLACE out")
        if self.looking_at("FUNCTION") or self.looking_at("TEMPORARY", "FUNCTION"):
            self.refuse("CREATE FUNCTION", "write what it does, or name a function of the session: --function NAME")
        self.expected("STREAM, TABLE, VIEW or SINK")

    def _create_stream(self, index: int, kind: str = "stream") -> CreateStream:
        name = self._declared_name(kind)
        if self.looking_at("AS"):
            hint = "a query has a name by CREATE VIEW v AS SELECT …; it is written by INSERT INTO sink SELECT …"
            self.refuse(f"CREATE {kind.upper()} … AS SELECT", hint)
        self.expect_symbol(TokenType.L_PAREN, f"( and the {kind}'s columns")
        elements = self._elements()
        storage = self.storage() if self.words("USING") else None
        if storage is None and self.looking_at("OPTIONS"):
            self.stop("OPTIONS belong to a format", hint="write USING format OPTIONS (…)")
        where = self.condition() if self.words("WHERE") else None
        if where is not None and self.looking_at("USING"):
            self.stop("USING stands before WHERE")
        return CreateStream(name, tuple(elements), storage, where, self.stretch_from(index))

    def _declared_name(self, kind: str) -> Name:
        index = self._index
        if self.words("IF", "NOT", "EXISTS"):
            self.stop("each name is declared once", self.stretch_from(index), hint="leave IF NOT EXISTS out")
        name = self.name(f"the name of the {kind}")
        if self.ahead(TokenType.DOT):
            self.stop(f"a {kind}'s name has one part", self.stretch_from(index), hint="without a catalogue or a schema")
        return name

    def _elements(self) -> list[Element]:
        """Up to the closing parenthesis."""
        elements: list[Element] = []
        failed = False
        while True:
            first = self._index
            known = len(elements)
            try:
                elements.append(self._element())
                if not self.ahead(TokenType.COMMA, TokenType.R_PAREN):
                    self.expected(", or )", hint=None if self.at_end else _advice(elements[-1]), or_words=_AFTER)
            except Stop as stop:
                self.source.add(stop.mistake)
                failed = True
                reached = self._index
                self._retreat(first)
                is_column = not self._opens_constraint() and not self.at_end and self.is_name(self._curr)
                if is_column and len(elements) == known:
                    elements.append(BrokenColumn(self.name("a column")))
                self._retreat(first)
                self._skip_element(reached)
            if not self.symbol(TokenType.COMMA):
                break
        # A parenthesis that is missing was most likely lost in the mistake before.
        if not (failed and self.at_end):
            self.expect_symbol(TokenType.R_PAREN, ") at the end of the stream's columns")
        return elements

    def _create_sink(self, index: int) -> CreateSink:
        name = self._declared_name("sink")
        key: tuple[Name, ...] = ()
        if self.symbol(TokenType.L_PAREN):
            self.expect_words("PRIMARY", "KEY", hint=f"a sink declares no columns, but may declare a key: {_KEYED}")
            key = self.names("a column")
            self.expect_symbol(TokenType.R_PAREN, f"), as in {_KEYED}")
        self.expect_words("USING", hint="a sink needs a format: CREATE SINK out USING parquet OPTIONS (path 'out')")
        return CreateSink(name, key, self.storage(), self.stretch_from(index))

    def _skip_element(self, reached: int) -> None:
        """To the comma or parenthesis that ends this element, of which all up to `reached` was read."""
        depth = 0
        while not self.at_end:
            kind = self._curr.token_type
            if depth == 0 and self._index >= reached and kind in (TokenType.COMMA, TokenType.R_PAREN):
                return
            if kind in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET):
                depth = max(0, depth - 1)
            self._advance()

    # Elements

    def _element(self) -> Element:
        index = self._index
        # A word opens a constraint only together with what must follow it: `event STRING` is a column.
        if self.words("EVENT", "TIME"):
            if self.ahead(TokenType.COMMA, TokenType.R_PAREN):
                self._retreat(index)
            else:
                return self._event_time(index)
        if self.words("ARRIVES", "BY"):
            column = self.name("a column")
            violation = self._violation()
            return ArrivesBy(column, violation, self.stretch_from(index))
        if self.words("PARTS", "BY"):
            if self.ahead(TokenType.L_PAREN):
                self.stop("PARTS BY takes one column, without parentheses", hint="write PARTS BY column")
            return PartsBy(self.name("a column"), self.stretch_from(index))
        if self.words("ON", "MALFORMED"):
            return self._malformed(index)
        constraint = self.constraint()
        return constraint if constraint is not None else self._column()

    def _event_time(self, index: int) -> EventTime:
        column = self.name("the column that is the event time")
        idle, idle_at = None, None
        begins = self._index
        if self.words("IDLE"):
            self.expect_words("AFTER", hint="write EVENT TIME ts IDLE AFTER 10 MINUTES")
            idle = self.span("a duration")
            idle_at = self.stretch_from(begins)
            if idle.ticks <= 0:
                self.stop("IDLE AFTER must be longer than 0", idle_at)
        return EventTime(column, idle, idle_at, self.stretch_from(index))

    def constraint(self) -> Constraint | None:
        """A table constraint, if one stands next."""
        index = self._index
        for opening, parse in self._forms():
            if self._opens(opening):
                made = parse()
                violation = self._violation()
                return Constraint(**{**made, "violation": violation, "at": self.stretch_from(index)})
        return None

    def _opens_constraint(self) -> bool:
        """Whether what stands next is meant as a constraint that can be left out; without EVENT TIME, much is wrong."""
        opens = any(self.looking_at(*words) for words in (("ARRIVES", "BY"), ("PARTS", "BY"), ("ON", "MALFORMED")))
        return opens or any(self._opens(opening) for opening, _ in self._forms())

    def _forms(self) -> tuple[tuple[tuple[str, ...], Callable[[], dict[str, Any]]], ...]:
        return (
            (("PRIMARY", "KEY"), self._primary_key),
            (("ORDERED", "BY"), lambda: self._by("ORDERED BY")),
            (("CLUSTERED", "BY"), lambda: self._by("CLUSTERED BY")),
            (("FOREIGN", "KEY"), self._foreign_key),
            (("STREAM", "KEY"), self._stream_key),
            (("PUNCTUATED", "ON"), self._punctuated),
            (("FOLLOWS",), self._follows),
            (("COOCCURS",), self._cooccurs),
            (("CHECK",), self._check),
        )

    def _opens(self, opening: tuple[str, ...]) -> bool:
        index = self._index
        if not self.words(*opening):
            return False
        follows_name = opening == ("FOLLOWS",)
        sure = len(opening) == 2
        if follows_name:
            sure = self.is_name(self._curr) and self._next.token_type in (TokenType.L_PAREN, TokenType.DOT)
        elif not sure:
            sure = self.ahead(TokenType.L_PAREN)
        if not sure:
            self._retreat(index)
        return sure

    def _primary_key(self) -> dict[str, Any]:
        return {"form": "PRIMARY KEY", "columns": self.names("a column")}

    def _by(self, form: str) -> dict[str, Any]:
        if self.ahead(TokenType.L_PAREN):
            self.stop(f"{form} takes one column, without parentheses", hint=f"write {form} column")
        return {"form": form, "columns": (self.name("a column"),), "within": self.within()}

    def _follows(self) -> dict[str, Any]:
        other = self.name("a stream")
        other_columns = self.names(f"a column of {other.text}")
        self.expect_words("ON", hint=f"FOLLOWS {other.text} (its columns) ON (this stream's columns) WITHIN …")
        columns = self.names("a column")
        return {
            "form": "FOLLOWS",
            "columns": columns,
            "other": other,
            "other_columns": other_columns,
            "within": self.within(),
        }

    def _foreign_key(self) -> dict[str, Any]:
        columns = self.names("a column")
        self.expect_words("REFERENCES")
        other = self.name("a stream")
        other_columns: tuple[Name, ...] = ()
        if self.ahead(TokenType.L_PAREN):
            other_columns = self.names(f"a column of {other.text}")
        return {
            "form": "FOREIGN KEY",
            "columns": columns,
            "other": other,
            "other_columns": other_columns,
            "window": self.time_window(),
        }

    def _stream_key(self) -> dict[str, Any]:
        columns = self.names("a column")
        self.expect_words("SPANS")
        other = self.name("a stream")
        return {"form": "STREAM KEY", "columns": columns, "other": other, "window": self.time_window()}

    def _cooccurs(self) -> dict[str, Any]:
        columns = self.names("a column")
        self.expect_words("AND")
        other = self.name("a stream")
        other_columns = self.names(f"a column of {other.text}")
        return {
            "form": "COOCCURS",
            "columns": columns,
            "other": other,
            "other_columns": other_columns,
            "window": self.time_window(),
        }

    def _punctuated(self) -> dict[str, Any]:
        columns = self.names("a column")
        self.expect_words("WHEN", hint="PUNCTUATED ON (a) WHEN condition: which rows are punctuations?")
        condition = self.condition()
        lifespan = None
        if self.words("LIFESPAN"):
            index = self._index
            lifespan = self.span("a duration")
            if lifespan.ticks <= 0:
                self.stop("a LIFESPAN must be longer than 0", self.stretch_from(index))
        return {"form": "PUNCTUATED ON", "columns": columns, "condition": condition, "lifespan": lifespan}

    def _check(self) -> dict[str, Any]:
        return {"form": "CHECK", "condition": self.in_parentheses(self.condition)}

    def _violation(self) -> ViolationClause | None:
        if not self.words("ON", "VIOLATION"):
            return None
        policies = ", ".join(Policy)
        word = "" if self.at_end else self._curr.text.upper()
        if word not in Policy.__members__:
            self.expected(f"one of {policies}")
        self._advance()
        policy = Policy(word)
        into = None
        if self.words("INTO"):
            if policy is not Policy.QUARANTINE:
                self.stop("only QUARANTINE writes INTO a sink", self.stretch_from(self._index - 1))
            into = self.name("a sink")
        return ViolationClause(policy, into)

    def _malformed(self, index: int) -> MalformedClause:
        word = "" if self.at_end else self._curr.text.upper()
        if word not in MalformedPolicy.__members__:
            self.expected(f"one of {', '.join(MalformedPolicy)}")
        self._advance()
        policy = MalformedPolicy(word)
        into = None
        if self.words("INTO"):
            if policy is not MalformedPolicy.QUARANTINE:
                self.stop("only QUARANTINE writes INTO a sink", self.stretch_from(self._index - 1))
            into = self.name("a sink")
        return MalformedClause(policy, into, self.stretch_from(index))

    # Columns

    def _column(self) -> ColumnDefinition:
        index = self._index
        name = self.name("a column or a constraint")
        if self.words("VIRTUAL"):
            if self.looking_at("AS"):
                self.stop("a VIRTUAL column cannot be derived: no row carries it")
            return ColumnDefinition(name, None, None, self.stretch_from(index))
        kind = self._type()
        derived = None
        if self.words("AS"):
            if not self.ahead(TokenType.L_PAREN):
                self.expected("(", hint=f"a derived column is written {name.text} TYPE AS (expression)")
            derived = self.in_parentheses(lambda: self.code(self._parse_disjunction, "an expression"))
        start = self._index
        if self.words("NOT", "NULL"):
            self.source.report(
                SyntaxMistake,
                "a column of a stream takes no NOT NULL",
                self.stretch_from(start),
                hint=f"write a constraint: CHECK ({name.text} IS NOT NULL)",
            )
        return ColumnDefinition(name, kind, derived, self.stretch_from(index))

    def _type(self) -> TypeText:
        index = self._index
        node = None if self.ahead(TokenType.COMMA, TokenType.R_PAREN) else self._parse_types(schema=True)
        if not isinstance(node, exp.DataType):
            self._retreat(index)
            self._no_type()
        word = self._tokens[index].text.upper()
        if word in _OF_OTHERS or self._prev.token_type is TokenType.R_BRACKET:
            self._retreat(index)
            self._no_type()
        at = self.stretch_from(index)
        return TypeText(node, " ".join(self.source.text[at.start : at.end].split()), at)

    def _no_type(self) -> NoReturn:
        """After a name no type stands: a type is misspelt, or the word before it was to open a constraint."""
        opening = nearest(self._prev.text, [words.split()[0] for words in _OPENINGS])
        if opening is not None and not self.at_end:
            meant = next(words for words in _OPENINGS if words.startswith(opening))
            before = Stretch(self._prev.start, self._curr.end + 1)
            self.stop("expected a column or a constraint", before, hint=f"did you mean {meant}?")
        word = "" if self.at_end else self._curr.text.upper()
        close = _OF_OTHERS.get(word) or nearest(word, (*TYPE_NAMES, "VIRTUAL"))
        hint = f"did you mean {close}?" if close and close != word else None
        self.stop(f"expected a Spark type, or VIRTUAL, found {self.found()}", hint=hint)


def _advice(element: Element) -> str:
    """What may follow an element, for whoever wrote more."""
    if isinstance(element, ColumnDefinition):
        return "a column is `name TYPE`, `name TYPE AS (expression)` or `name VIRTUAL`; constraints stand on their own"
    return "clauses stand in this order: WITHIN or WINDOW, as the constraint takes; WHEN; LIFESPAN; ON VIOLATION"
