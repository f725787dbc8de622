"""The grammar of FROM: streams with their windows, joins, parentheses, queries; and where a clause that follows begins.

What joins what is only read here; sql/from_clause says what it means.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from sqlglot.tokenizer_core import TokenType

from penstock.model.clauses import RangeWindow, RowsWindow
from penstock.model.names import fold
from penstock.sql.cursor import Stop
from penstock.sql.hint_grammar import HintGrammar
from penstock.sql.refused_words import GENERATORS, REFUSED_CLAUSES, function_in_from
from penstock.sql.tree import (
    ELEMENT_FUNCTIONS,
    Code,
    FromElements,
    FromItem,
    FromJoin,
    FromPart,
    FromQuery,
    Name,
    QueryBody,
    QueryText,
    Select,
    SetOperation,
    Values,
    WrittenJoin,
)

QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
"""How a query may begin."""
UNNAMED = "subquery"
"""What a query in FROM goes by that has no alias."""

_JOINS_FIRST = "as in Spark, joins stand before LATERAL VIEW: FROM a JOIN b ON … LATERAL VIEW explode(a.xs) t AS x"
_JOINS = (
    (("JOIN",), WrittenJoin.INNER),
    (("INNER", "JOIN"), WrittenJoin.INNER),
    (("LEFT", "SEMI", "JOIN"), WrittenJoin.SEMI),
    (("SEMI", "JOIN"), WrittenJoin.SEMI),
    (("LEFT", "ANTI", "JOIN"), WrittenJoin.ANTI),
    (("ANTI", "JOIN"), WrittenJoin.ANTI),
    *(
        ((kind.value, *outer, "JOIN"), kind)
        for kind in (WrittenJoin.LEFT, WrittenJoin.RIGHT, WrittenJoin.FULL)
        for outer in ((), ("OUTER",))
    ),
)


class FromGrammar(HintGrammar):
    """FROM."""

    @abstractmethod
    def query(self) -> QueryText:
        """A query, up to the first token that is none of its own."""

    def refuse_clause(self) -> None:
        """Stops at a clause of SQL that is not in the language."""
        if not self.at_end and self._curr.text == "|>":
            self.refuse("the pipe |>", "write the query from inside out: SELECT … FROM (SELECT … FROM …) AS x WHERE …")
        for words, hint in REFUSED_CLAUSES:
            index = self._index
            if self.words(*words):
                self.refuse(" ".join(words), hint, self.stretch_from(index))

    def name_ahead(self) -> bool:
        """Whether an alias without AS stands next, and not the next clause."""
        if self.at_end or not self.is_name(self._curr):
            return False
        ahead = (("WHERE",), ("GROUP", "BY"), ("FROM",), *(words for words, _ in REFUSED_CLAUSES))
        return not any(self.looking_at(*words) for words in ahead)

    def from_parts(self) -> FromPart:
        """What stands after FROM."""
        part = self._joined()
        while self.ahead(TokenType.COMMA):
            index = self._index
            self.symbol(TokenType.COMMA)
            at = self.stretch_from(index)
            if self.words("LATERAL"):
                part = self._elements_of(part, index, is_outer=False)
            else:
                part = FromJoin(WrittenJoin.INNER, part, self._joined(), None, at)
        while True:
            index = self._index
            if not self.words("LATERAL", "VIEW"):
                return part
            part = self._elements_of(part, index, is_outer=self.words("OUTER"), is_view=True)
            if self._join_kind() is not None:
                self.stop("a join after LATERAL VIEW", self.stretch_from(self._index - 1), hint=_JOINS_FIRST)

    def _elements_of(self, rows: FromPart, index: int, *, is_outer: bool, is_view: bool = False) -> FromElements:
        """`explode(x) t AS y`, or `explode(x) AS t (y)`."""
        if self.ahead(TokenType.L_PAREN):
            hint = (
                "name an expression in SELECT, and use it after that; of a table, write LEFT JOIN (SELECT …) AS t ON …"
            )
            self.refuse("LATERAL (SELECT …)", hint)
        function = self.name(f"a function: {', '.join(ELEMENT_FUNCTIONS)}")
        if function.text.lower() not in ELEMENT_FUNCTIONS:
            others = f"the functions are: {', '.join(ELEMENT_FUNCTIONS)}"
            self.refuse(f"LATERAL VIEW {function.text}", GENERATORS.get(function.text.lower(), others), function.at)
        argument = self.elements_argument()
        alias, columns = None, tuple[Name, ...]()
        if is_view:
            alias = None if self.looking_at("AS") or not self.name_ahead() else self.name("an alias")
            if self.words("AS") or (alias is not None and self.name_ahead()):
                columns = tuple(self.separated(lambda: self.name("a column's name")))
        elif self.words("AS") or self.name_ahead():
            alias = self.name("an alias")
            columns = self.names("columns") if self.ahead(TokenType.L_PAREN) else ()
        name = function.text.lower()
        is_outer = is_outer or name.endswith("_outer")
        return FromElements(rows, name, argument, is_outer, alias, columns, self.stretch_from(index))

    def _joined(self) -> FromPart:
        part = self.from_item()
        while True:
            index = self._index
            natural = self.words("NATURAL")
            crossed = not natural and self.words("CROSS", "JOIN")
            kind = WrittenJoin.INNER if crossed else self._join_kind()
            if kind is None:
                if natural:
                    self.expected("JOIN")
                return part
            at = self.stretch_from(index)
            if self.words("LATERAL"):
                part = self._of_join(self._elements_of(part, index, is_outer=kind is WrittenJoin.LEFT), kind, natural)
                continue
            right = self.from_item()
            condition, using = None, tuple[Name, ...]()
            if self.looking_at("USING") and not crossed and not natural:
                self.words("USING")
                using = self.names("the columns that both sides have")
            elif not crossed and not natural:
                plain = "a join without a condition is written with a comma or CROSS JOIN"
                needed = f"{'an outer' if kind not in (WrittenJoin.SEMI, WrittenJoin.ANTI) else 'such a'} join"
                self.expect_words("ON", hint=plain if kind is WrittenJoin.INNER else f"{needed} needs a condition")
                condition = self.condition()
            part = FromJoin(kind, part, right, condition, at, using, natural)

    def elements_argument(self) -> Code:
        """`(x)`."""
        return self.in_parentheses(lambda: self.code(self._parse_disjunction, "an array or a map"))

    def _of_join(self, made: FromElements, kind: WrittenJoin, natural: bool) -> FromElements:
        """`JOIN LATERAL explode(…)`, which has no condition but TRUE."""
        if natural or kind not in (WrittenJoin.INNER, WrittenJoin.LEFT):
            self.refuse(f"{kind} JOIN LATERAL", "write JOIN LATERAL or LEFT JOIN LATERAL … ON TRUE", made.at)
        if self.words("ON") and not self.words("TRUE"):
            self.refuse("a condition of JOIN LATERAL", "write ON TRUE, and the condition in WHERE")
        return made

    def _join_kind(self) -> WrittenJoin | None:
        found = next((kind for words, kind in _JOINS if self.words(*words)), None)
        if found is None and any(self.words(word) for word in ("LEFT", "RIGHT", "FULL")):
            self.expected("OUTER JOIN or JOIN")
        return found

    def from_item(self) -> FromPart:
        """A stream, a query, or what stands in parentheses."""
        if self.ahead(TokenType.L_PAREN):
            return self._from_parentheses()
        index = self._index
        if self.looking_at("VALUES"):
            values = self.values()
            alias, columns = self._alias(None)
            return FromQuery(QueryText((), values, values.at), None, alias, columns, self.stretch_from(index))
        if self.looking_at("LATERAL"):
            self.refuse("LATERAL in FROM", "it stands after a comma or JOIN: FROM s, LATERAL explode(s.xs) AS t (x)")
        if self.looking_at("UNNEST"):
            self.refuse("UNNEST in FROM", "write LATERAL VIEW explode(xs) t AS x")
        in_parentheses = self._says_stream()
        stream = self.name("a stream")
        if in_parentheses:
            self.expect_symbol(TokenType.R_PAREN, ")")
        if self.symbol(TokenType.DOT):
            self.stop("a stream's name has one part", self.stretch_from(index), hint="name it as CREATE STREAM does")
        if self.ahead(TokenType.L_PAREN):
            self.refuse(*function_in_from(stream.text), stream.at)
        window = self._stream_window()
        alias, columns = self._alias(window)
        if columns:
            self.stop("a stream's columns keep their names", hint="rename columns in SELECT: a AS b")
        return FromItem(stream, window, alias, self.stretch_from(index))

    def _says_stream(self) -> bool:
        """Pass over the STREAM of `STREAM name` and `STREAM(name)`; whether a parenthesis is open."""
        after = self._tokens[self._index + 1] if self._index + 1 < self._tokens_size else None
        if not self.looking_at("STREAM") or after is None:
            return False
        if after.token_type is TokenType.L_PAREN:
            self._advance(2)
            return True
        if self.is_name(after) and not self._ends_item(1):
            self._advance()
        return False

    def _ends_item(self, ahead: int) -> bool:
        """Whether a word so far ahead begins what follows an item of FROM."""
        self._advance(ahead)
        ends = not self.name_ahead() or any(self.looking_at(*words) for words, _ in _JOINS)
        self._retreat(self._index - ahead)
        return ends

    def values(self) -> Values:
        """`VALUES (1, 'a'), (2, 'b')`."""
        index = self._index
        self.expect_words("VALUES")
        rows = self.separated(self._values_row)
        at = self.stretch_from(index)
        if len({len(row) for row in rows}) > 1:
            self.stop("the rows of VALUES have not all as many columns", at)
        return Values(tuple(rows), at)

    def _values_row(self) -> tuple[Code, ...]:
        def value() -> Code:
            return self.code(self._parse_disjunction, "a value")

        if self.ahead(TokenType.L_PAREN):
            return tuple(self.in_parentheses(lambda: self.separated(value)))
        return (value(),)

    def _alias(self, window: RowsWindow | RangeWindow | None) -> tuple[Name | None, tuple[Name, ...]]:
        """`[[AS] alias [(a, b)]]`."""
        alias, columns = None, tuple[Name, ...]()
        if self.words("AS") or self.name_ahead():
            alias = self.name("an alias")
            if self.ahead(TokenType.L_PAREN):
                columns = self.names("columns")
        if self.ahead(TokenType.L_BRACKET):
            if window is not None:
                self.stop("a stream has one window at most")
            self.stop("a window stands before the alias", hint="write stream [RANGE d] AS alias")
        return alias, columns

    def begins_query(self, index: int) -> bool:
        """Whether a query begins with a token; one in backticks is a name."""
        token = self._tokens[index] if index < self._tokens_size else None
        return token is not None and token.token_type is not TokenType.IDENTIFIER and token.text.upper() in QUERY_WORDS

    def _from_parentheses(self) -> FromPart:
        """A query, or a part of FROM."""
        index = self._index
        first = self._tokens[index + 1].text.upper() if index + 1 < self._tokens_size else ""
        if not self.begins_query(index + 1):
            try:
                part = self.in_parentheses(self.from_parts)
                if not self.name_ahead() and not self.looking_at("AS"):
                    return part
                if isinstance(part, FromItem):
                    alias, _ = self._alias(part.window)
                    return replace(part, alias=alias, at=self.stretch_from(index))
                self.stop("joins in parentheses have no name of their own", hint="name the streams in them")
            except Stop:
                # Two parentheses may open a query, as in ((SELECT …) UNION ALL (SELECT …)).
                if first != "(":
                    raise
                self._retreat(index)
        query = self.in_parentheses(self.query)
        window = self._stream_window()
        alias, columns = self._alias(window)
        query, columns = named_by_place(query, columns) if columns else (query, columns)
        return FromQuery(query, window, alias, columns, self.stretch_from(index))

    def _stream_window(self) -> RowsWindow | RangeWindow | None:
        index = self._index
        if not self.symbol(TokenType.L_BRACKET):
            return None
        window: RowsWindow | RangeWindow
        try:
            if self.words("RANGE"):
                window = RangeWindow(self.span("a duration"))
            elif self.words("ROWS"):
                window = RowsWindow(self.whole_number("a number of rows"))
            else:
                self.expected("RANGE or ROWS", hint="write [RANGE 10 MINUTES] or [ROWS 50000]")
        except ValueError as error:
            self.stop(str(error), self.stretch_from(index))
        self.expect_symbol(TokenType.R_BRACKET, "]")
        return window


def with_names_for_queries(part: FromPart) -> FromPart:
    """FROM with a name for each query in it that has none: as in Spark there may be several.

    The first needs none where nothing else goes by what such a query is called.
    """
    return _with_names(part, {fold(name) for name in _names(part)})


def _names(part: FromPart) -> Iterator[str]:
    """What the parts of FROM go by that have a name."""
    match part:
        case FromJoin(left=left, right=right):
            yield from _names(left)
            yield from _names(right)
        case FromElements(rows=rows):
            yield from _names(rows)
        case FromQuery(alias=alias):
            yield from () if alias is None else (alias.text,)
        case FromItem(stream=stream, alias=alias):
            yield (alias or stream).text


def _with_names(part: FromPart, taken: set[str]) -> FromPart:
    match part:
        case FromJoin(left=left, right=right):
            left = _with_names(left, taken)
            return replace(part, left=left, right=_with_names(right, taken))
        case FromElements(rows=rows):
            return replace(part, rows=_with_names(rows, taken))
        case FromQuery(alias=None) if UNNAMED not in taken:
            taken.add(UNNAMED)
            return part
        case FromQuery(alias=None):
            number = 2
            while f"{UNNAMED}_{number}" in taken:
                number += 1
            taken.add(f"{UNNAMED}_{number}")
            return replace(part, alias=Name(f"{UNNAMED}_{number}", part.at))
        case _:
            return part


def named_by_place(query: QueryText, names: tuple[Name, ...]) -> tuple[QueryText, tuple[Name, ...]]:
    """A query whose columns are given names from without, `WITH t (a, b) AS (query)`, and those still to be given.

    One that numbers rows is given them at once: it is by the name of the number that the first are asked for.
    """
    body = query.body
    if isinstance(body, Select) and any(item.number is not None for item in body.items):
        are_plain = all(item.code is not None and item.alias is None for item in body.items)
        if are_plain and len(body.items) == len(names):
            named = zip(body.items, names, strict=True)
            items = tuple(replace(item, alias=name) for item, name in named)
            return replace(query, body=replace(body, items=items)), ()
    return replace(query, body=body_named_by_place(body)), names


def body_named_by_place(body: QueryBody) -> QueryBody:
    """The same of its SELECTs, or of what stands after a UNION."""
    match body:
        case QueryText():
            return replace(body, body=body_named_by_place(body.body))
        case SetOperation():
            return replace(body, left=body_named_by_place(body.left))
        case Select():
            return replace(body, items=tuple(replace(item, is_named_by_place=True) for item in body.items))
        case Values():
            return body
