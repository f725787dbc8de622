"""The grammar of SELECT, and of INSERT INTO … SELECT.

Clauses are read here, expressions by sqlglot. SQL that the language leaves out is recognised and refused by name, at
its place, rather than met as a surprise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Self

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.clauses import RangeWindow, RowsWindow
from penstock.model.names import nearest
from penstock.model.relation import JoinKind
from penstock.sql.aggregate_calls import around, calls_in, is_one_call, mark_calls, words_of
from penstock.sql.declarations import DeclarationGrammar
from penstock.sql.tree import (
    AggregateCall,
    Code,
    FromItem,
    FromJoin,
    FromPart,
    Hint,
    Insert,
    Name,
    OverAggregates,
    Select,
    SelectItem,
    Stretch,
)

_REFUSED_CLAUSES = (
    (("HAVING",), "it stands once, after GROUP BY"),
    (("ORDER", "BY"), "a stream has no end, so its results cannot be sorted"),
    (("SORT", "BY"), "a stream has no end, so its results cannot be sorted"),
    (("CLUSTER", "BY"), "Penstock places rows in cells itself"),
    (("DISTRIBUTE", "BY"), "Penstock places rows in cells itself"),
    (("LIMIT",), "a stream has no end; stop the query instead"),
    (("OFFSET",), "a stream has no end"),
    (("FETCH",), "a stream has no end; stop the query instead"),
    (("UNION",), "write one INSERT INTO for each SELECT; they may share a sink"),
    (("INTERSECT",), "write an EXISTS"),
    (("EXCEPT",), "write a NOT EXISTS"),
    (("MINUS",), "write a NOT EXISTS"),
    (("QUALIFY",), "window functions are not in the language"),
    (
        ("WINDOW",),
        "window functions are not in the language; a stream's window is written stream [RANGE d] or [ROWS n]",
    ),
    (("LATERAL",), "derive a column in CREATE STREAM instead"),
    (("PIVOT",), "group in the language, pivot in the sink's reader"),
    (("UNPIVOT",), "derive columns in CREATE STREAM instead"),
    (("TABLESAMPLE",), "use a BUDGET to keep less"),
    (("USING",), "write ON a.x = b.x"),
    (("NATURAL",), "write JOIN … ON a.x = b.x"),
    (("WITH",), "write each query in full"),
)

CLAUSE_WORDS = ("FROM", "WHERE", "GROUP", "JOIN", "LEFT", "RIGHT", "FULL", "CROSS", "INNER", "ON", "AND")
"""Words that may follow where a query is not at its end."""

HINTS = ("BUDGET", "EVICT", "VALUE", "ARCHIVE", "SHED", "ERROR", "MONITOR")


class QueryGrammar(DeclarationGrammar):
    """SELECT and INSERT."""

    def insert(self) -> Insert:
        """After INSERT."""
        index = self._index - 1
        if self.words("OVERWRITE"):
            self.refuse("INSERT OVERWRITE", "a stream's answer only grows: INSERT INTO", self.stretch_from(index))
        self.expect_words("INTO")
        sink = self.name("a sink")
        if not self.looking_at("SELECT"):
            self._refuse_clause()
            self.expected("SELECT", hint="write INSERT INTO sink SELECT …; the columns are those of SELECT")
        return Insert(sink, self.select(), self.stretch_from(index))

    def select(self) -> Select:
        """A SELECT, up to the first token that is none of its own."""
        index = self._index
        self.expect_words("SELECT")
        hints = self._hints()
        distinct = False
        if self.looking_at("DISTINCT") and self._next.token_type is not TokenType.DOT:
            distinct = self.words("DISTINCT")
        elif self.looking_at("ALL"):
            self.words("ALL")
        items = self.separated(self._item)
        if not self.words("FROM"):
            self._refuse_clause()
            self.expected("FROM", hint="a query reads at least one stream: SELECT … FROM stream")
        source = self._from()
        where = self.condition() if self.words("WHERE") else None
        group_by: list[Code] = []
        groups_by_all = False
        if self.words("GROUP", "BY"):
            groups_by_all = self.words("ALL")
            for words in (("CUBE",), ("ROLLUP",), ("GROUPING", "SETS")):
                if self.looking_at(*words):
                    self.refuse(f"GROUP BY {' '.join(words)}", "name the columns to group by")
            if not groups_by_all:
                group_by = self.separated(lambda: self.code(self._parse_disjunction, "a column to group by"))
        keys = [words_of(code.tokens) for code in group_by if is_one_call(code.tokens)]
        items = [i if i.code is None else replace(i, over=self._over_aggregates(i.code, keys)) for i in items]
        having = None
        if self.words("HAVING"):
            condition = self.condition()
            having = self._over_aggregates(condition, keys) or OverAggregates(condition, ())
        self._refuse_clause()
        at = self.stretch_from(index)
        return Select(tuple(hints), distinct, tuple(items), source, where, tuple(group_by), at, groups_by_all, having)

    def _refuse_clause(self) -> None:
        for words, hint in _REFUSED_CLAUSES:
            index = self._index
            if self.words(*words):
                self.refuse(" ".join(words), hint, self.stretch_from(index))

    # What a query gives

    def _item(self) -> SelectItem:
        index = self._index
        if self.symbol(TokenType.STAR):
            return self._star(None, index)
        if (
            not self.at_end
            and self.is_name(self._curr)
            and self._next.token_type is TokenType.DOT
            and index + 2 < self._tokens_size
            and self._tokens[index + 2].token_type is TokenType.STAR
        ):
            of = self.name("a stream")
            self._advance(2)
            return self._star(of, index)
        code = self.code(self._parse_disjunction, "a column or an expression")
        alias = None
        if self.words("AS") or self._name_ahead():
            alias = self.name("a name for the column")
        return SelectItem(code, None, alias, self.stretch_from(index))

    def _over_aggregates(self, code: Code, keys: list[tuple[str, ...]]) -> OverAggregates | None:
        """An expression over aggregates, or over more than one key of the groups as it is; None if it is neither."""
        calls = list(calls_in(code.tokens, keys))
        if not any(end - begin < len(code.tokens) or is_aggregate for begin, end, is_aggregate in calls):
            return None
        read = [(self._among(code.tokens[begin:end]), is_aggregate) for begin, end, is_aggregate in calls]
        tokens = around(code.tokens, calls)
        outer = self._among(tokens).condition()
        return OverAggregates(
            Code(mark_calls(outer.node), tuple(tokens), code.at),
            tuple(inner._aggregate_call() if is_aggregate else inner.condition() for inner, is_aggregate in read),
        )

    def _among(self, tokens: Sequence[Token]) -> Self:
        """Another one like this, before some of the tokens."""
        inner = type(self)(dialect=self.dialect)
        inner.start(list(tokens), self.source)
        return inner

    def _aggregate_call(self) -> AggregateCall:
        index = self._index
        name = self._curr.text.lower()
        self._advance(2)
        distinct = self.words("DISTINCT")
        if not distinct:
            self.words("ALL")
        is_star = self.symbol(TokenType.STAR)
        arguments: list[Code] = []
        if not is_star and not self.ahead(TokenType.R_PAREN):
            arguments = self.separated(lambda: self.code(self._parse_disjunction, "an expression"))
        if self.looking_at("ORDER", "BY"):
            self.refuse(f"ORDER BY inside {name}", "rows of a group have no order but that of their arrival")
        ignores_nulls = self._nulls()
        self.expect_symbol(TokenType.R_PAREN, ")")
        ignores_nulls = self._nulls() or ignores_nulls
        if self.looking_at("WITHIN", "GROUP"):
            self.refuse("WITHIN GROUP", "use median", Stretch(self._tokens[0].start, self._tokens[-1].end + 1))
        where = None
        if self.words("FILTER"):
            self.expect_symbol(TokenType.L_PAREN, "(")
            self.expect_words("WHERE")
            where = self.condition()
            self.expect_symbol(TokenType.R_PAREN, ")")
        if not self.at_end:
            self.expected("the end of an aggregate")
        return AggregateCall(name, tuple(arguments), is_star, distinct, ignores_nulls, where, self.stretch_from(index))

    def _nulls(self) -> bool:
        """`IGNORE NULLS`; `RESPECT NULLS` is what is meant without it."""
        ignores = self.words("IGNORE", "NULLS")
        if not ignores:
            self.words("RESPECT", "NULLS")
        return ignores

    def _star(self, of: Name | None, index: int) -> SelectItem:
        if self.looking_at("EXCEPT") or self.looking_at("EXCLUDE"):
            self.refuse("* EXCEPT", "name the columns")
        return SelectItem(None, of, None, self.stretch_from(index))

    def _name_ahead(self) -> bool:
        """Whether an alias without AS stands next, and not the next clause."""
        if self.at_end or not self.is_name(self._curr):
            return False
        ahead = (("WHERE",), ("GROUP", "BY"), ("FROM",), *(words for words, _ in _REFUSED_CLAUSES))
        return not any(self.looking_at(*words) for words in ahead)

    # FROM

    def _from(self) -> FromPart:
        part = self._joined()
        while self.symbol(TokenType.COMMA):
            part = FromJoin(JoinKind.INNER, part, self._joined(), None)
        return part

    def _joined(self) -> FromPart:
        part: FromPart = self._from_item()
        while (kind := self._join_kind()) is not None:
            crossed = self._prev_words_were_cross
            right = self._from_item()
            condition = None
            if not crossed:
                if self.looking_at("USING"):
                    self.refuse("USING", "write ON a.x = b.x")
                plain = "a join without a condition is written with a comma or CROSS JOIN"
                self.expect_words("ON", hint=plain if kind is JoinKind.INNER else "an outer join needs a condition")
                condition = self.condition()
            part = FromJoin(kind, part, right, condition)
        return part

    _prev_words_were_cross = False

    def _join_kind(self) -> JoinKind | None:
        index = self._index
        self._prev_words_were_cross = False
        if self.words("NATURAL"):
            self.refuse("NATURAL JOIN", "write JOIN … ON a.x = b.x", self.stretch_from(index))
        if self.words("CROSS", "JOIN"):
            self._prev_words_were_cross = True
            return JoinKind.INNER
        if self.words("JOIN") or self.words("INNER", "JOIN"):
            return JoinKind.INNER
        for kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
            if self.words(kind.value):
                for word, instead in (("SEMI", "EXISTS (SELECT …)"), ("ANTI", "NOT EXISTS (SELECT …)")):
                    if self.words(word):
                        self.refuse(f"{kind.value} {word} JOIN", f"write WHERE {instead}", self.stretch_from(index))
                if not self.words("OUTER") and not self.looking_at("JOIN"):
                    self.expected("OUTER JOIN or JOIN")
                self.expect_words("JOIN")
                return kind
        for word, instead in (("SEMI", "EXISTS (SELECT …)"), ("ANTI", "NOT EXISTS (SELECT …)")):
            if self.words(word, "JOIN"):
                self.refuse(f"{word} JOIN", f"write WHERE {instead}", self.stretch_from(index))
        return None

    def _from_item(self) -> FromItem:
        index = self._index
        if self.ahead(TokenType.L_PAREN):
            self.refuse("a subquery or parenthesis in FROM", "join streams by their names, from left to right")
        for word in ("LATERAL", "VALUES", "UNNEST"):
            if self.looking_at(word):
                self.refuse(f"{word} in FROM", "join streams by their names")
        stream = self.name("a stream")
        if self.symbol(TokenType.DOT):
            self.stop("a stream's name has one part", self.stretch_from(index), hint="name it as CREATE STREAM does")
        if self.ahead(TokenType.L_PAREN):
            self.refuse("a table function in FROM", "join streams by their names")
        window = self._stream_window()
        alias = None
        if self.words("AS") or self._name_ahead():
            alias = self.name("an alias")
        if self.ahead(TokenType.L_BRACKET):
            if window is not None:
                self.stop("a stream has one window at most")
            self.stop("a window stands before the alias", hint="write stream [RANGE d] AS alias")
        return FromItem(stream, window, alias, self.stretch_from(index))

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

    # EXISTS: sqlglot reads the predicate and asks for a SELECT; it gets ours.

    def _parse_select_query(
        self,
        nested: bool = False,  # noqa: ARG002 - sqlglot's signature
        table: bool = False,  # noqa: ARG002
        parse_subquery_alias: bool = True,  # noqa: ARG002
        parse_set_operation: bool = True,  # noqa: ARG002
    ) -> exp.Expr | None:
        if self.looking_at("WITH"):
            self._refuse_clause()
        if not self.looking_at("SELECT"):
            return None
        index = self._index
        block = self.select()
        node = exp.Select()
        node.meta["block"] = block
        node.meta["at"] = self.stretch_from(index)
        return node

    # Hints

    def _hints(self) -> list[Hint]:
        if not self.ahead(TokenType.HINT):
            return []
        token = self._curr
        self._advance()
        # Blanks before the hint keep every offset, so that its tokens have their true places.
        body = self.source.text[token.start + 3 : token.end - 1]
        tokens = self.dialect.tokenize(" " * (token.start + 3) + body)
        inner = type(self)(dialect=self.dialect)
        inner.start(tokens, self.source)
        if not tokens:
            self.stop("an empty hint", Stretch(token.start, token.end + 1), hint=f"the hints are: {', '.join(HINTS)}")
        hints = inner.separated(inner.hint)
        if not inner.at_end:
            inner.expected(", between two hints")
        return hints

    def hint(self) -> Hint:
        """One hint."""
        index = self._index
        name = self.name("a hint").text.upper()
        if name not in HINTS:
            close = nearest(name, HINTS)
            known = f"did you mean {close}?" if close else f"the hints are: {', '.join(HINTS)}"
            self.stop(f"unknown hint {name}", self.stretch_from(index), hint=known)
        self.expect_symbol(TokenType.L_PAREN, "(")
        parts: dict[str, Any] = {}
        match name:
            case "BUDGET":
                sign = -1 if self.symbol(TokenType.DASH) else 1
                number = self._ungrouped()
                parts = {"number": sign * number, "words": (self._word("ROWS, KB, MB or GB"),)}
            case "EVICT":
                parts = {"words": (self._word("a policy").lower(),)}
            case "VALUE":
                parts = {"code": self.code(self._parse_disjunction, "an expression")}
            case "ARCHIVE":
                parts = {"text": self.string("a path in quotes")}
            case "SHED":
                self.expect_words("INPUT")
            case "ERROR":
                parts = {"number": self.number("a number")}
                self.expect_words("PERCENT")
                if self.words("WITH"):
                    self.expect_words("BOUNDS")
                    parts["words"] = ("WITH BOUNDS",)
            case _:
                numbers = self.separated(lambda: self.number("a number"))
                if len(numbers) != 3:
                    self.stop("MONITOR takes three numbers: c, p, W", self.stretch_from(index))
                parts = {"numbers": tuple(numbers)}
        self.expect_symbol(TokenType.R_PAREN, ")")
        return Hint(**{"name": name, "at": self.stretch_from(index), **parts})

    def _ungrouped(self) -> Decimal:
        """A number, which has no commas in it."""
        start = self._index
        number = self.number("a number")
        if self.ahead(TokenType.COMMA) and self._next.token_type is TokenType.NUMBER:
            digits = f"{number}"
            while self.symbol(TokenType.COMMA) and self.ahead(TokenType.NUMBER):
                digits += self._curr.text
                self._advance()
            self.stop("a number has no commas", self.stretch_from(start), hint=f"write {digits}")
        return number

    def _word(self, what: str) -> str:
        return self.name(what).text.upper()
