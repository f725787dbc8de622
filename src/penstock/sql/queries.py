"""The grammar of queries: WITH, SELECT, UNION; of INSERT INTO … and CREATE VIEW … AS.

Clauses are read here, expressions by sqlglot. SQL that the language leaves out is recognised and refused by name, at
its place, rather than met as a surprise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.model.names import fold
from penstock.sql.aggregate_calls import around, calls_in, is_one_call, mark_calls, words_of
from penstock.sql.from_grammar import body_named_by_place, named_by_place, with_names_for_queries
from penstock.sql.numbering_grammar import NumberingGrammar
from penstock.sql.refused_words import FIRST_OF_EACH, NO_PROGRAM, STARS
from penstock.sql.tree import (
    ELEMENT_FUNCTIONS,
    AggregateCall,
    Code,
    CommonTable,
    CreateSink,
    CreateStream,
    CreateView,
    Element,
    FromElements,
    FromPart,
    Insert,
    Name,
    OrderItem,
    OverAggregates,
    QueryBody,
    QueryText,
    Select,
    SelectItem,
    SetOperation,
)

CLAUSE_WORDS = ("FROM", "WHERE", "GROUP", "JOIN", "LEFT", "RIGHT", "FULL", "CROSS", "INNER", "ON", "AND", "UNION")
"""Words that may follow where a query is not at its end."""

_BEGIN_VALUES = (TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING, TokenType.DASH)


class QueryGrammar(NumberingGrammar):
    """SELECT and INSERT."""

    def insert(self) -> Insert:
        """After INSERT."""
        index = self._index - 1
        if self.words("OVERWRITE"):
            self.refuse("INSERT OVERWRITE", "a stream's answer only grows: INSERT INTO", self.stretch_from(index))
        self.expect_words("INTO")
        after = self._tokens[self._index + 1].text.upper() if self._index + 1 < self._tokens_size else ""
        if self.looking_at("TABLE") and after not in ("SELECT", "WITH", "VALUES", "("):
            self.words("TABLE")  # as Spark writes it too
        sink = self.name("a sink")
        self.words("BY", "NAME")  # as columns are written in any case
        if not self.query_stands_next():
            self.refuse_clause()
            if self.looking_at("PARTITION"):
                hint = "the folders are an option of the sink: CREATE SINK … OPTIONS (…, partitionBy 'day')"
                self.refuse("INSERT INTO … PARTITION", hint)
            if self.looking_at("REPLACE"):
                self.refuse(
                    "INSERT INTO … REPLACE",
                    "a sink with a PRIMARY KEY takes updates: CREATE SINK s (PRIMARY KEY (id)) …",
                )
            self.expected("SELECT", hint="write INSERT INTO sink SELECT …; the columns are those of SELECT")
        return Insert(sink, self.query(), self.stretch_from(index))

    def create(self) -> CreateStream | CreateSink | CreateView:
        """After CREATE."""
        index = self._index - 1
        if self.words("TEMPORARY", "VIEW") or self.words("TEMP", "VIEW") or self.words("VIEW"):
            return self._create_view(index)
        return super().create()

    def _create_view(self, index: int) -> CreateView:
        name = self._declared_name("view")
        columns: list[Name] = []
        elements: list[Element] = []
        if self.symbol(TokenType.L_PAREN):
            for part in self.separated(self._of_view):
                if isinstance(part, Name):
                    columns.append(part)
                else:
                    elements.append(part)
            self.expect_symbol(TokenType.R_PAREN, ") at the end of the view's declarations")
        self._comment()
        self.expect_words("AS", hint="write CREATE VIEW name AS SELECT …")
        query, names = self.query(), tuple(columns)
        query, names = named_by_place(query, names) if names else (query, names)
        return CreateView(name, names, tuple(elements), query, self.stretch_from(index))

    def _of_view(self) -> Name | Element:
        """A declaration of a view, or the name of a column of it."""
        openings = (("EVENT", "TIME"), ("ARRIVES", "BY"), ("ON", "MALFORMED"))
        index = self._index
        opens = self._opens_constraint() or any(self.looking_at(*words) for words in openings)
        self._retreat(index)
        if opens:
            return self._element()
        name = self.name("a column's name, or a declaration such as PRIMARY KEY (id)")
        if self.looking_at("VIRTUAL"):
            hint = "an identity that no row carries is declared of a stream: CREATE STREAM s (…, conn VIRTUAL, …)"
            self.refuse("a VIRTUAL column of a view", hint, self.stretch_from(index))
        self._comment()
        return name

    def _comment(self) -> None:
        """Pass over `COMMENT 'text'`."""
        if self.words("COMMENT"):
            self.string("a text in quotes")

    def query_stands_next(self) -> bool:
        """Whether a query does, perhaps in parentheses."""
        index = self._index
        while index < self._tokens_size and self._tokens[index].token_type is TokenType.L_PAREN:
            index += 1
        return self.begins_query(index)

    def query(self) -> QueryText:
        """A query, up to the first token that is none of its own."""
        index = self._index
        return self._query_over(self.common_tables(), index)

    def with_insert(self) -> Insert | QueryText:
        """`WITH a AS (…) INSERT INTO sink SELECT …`, as Spark takes it too, or a query."""
        index = self._index
        common = self.common_tables()
        if not self.words("INSERT"):
            return self._query_over(common, index)
        made = self.insert()
        return Insert(made.sink, QueryText(tuple(common), made.query, made.query.at), self.stretch_from(index))

    def common_tables(self) -> list[CommonTable]:
        """`WITH a AS (…), …`, if it stands next."""
        common: list[CommonTable] = []
        if self.words("WITH"):
            if self.words("RECURSIVE"):
                self.refuse("WITH RECURSIVE", "a stream has no end, so nothing that feeds itself is ever done")
            common = self.separated(self._common_table)
            for number, one in enumerate(common):
                if any(fold(one.name.text) == fold(other.name.text) for other in common[:number]):
                    self.stop(f"{one.name.text} stands twice in WITH", one.name.at, hint="give each its own name")
        return common

    def _query_over(self, common: list[CommonTable], index: int) -> QueryText:
        body = self._set_operations(
            lambda: self._set_operations(self._query_term, ("INTERSECT",)), ("UNION", "EXCEPT", "MINUS")
        )
        self.words("LIMIT", "ALL")
        self.refuse_clause()
        return QueryText(tuple(common), body, self.stretch_from(index))

    def _set_operations(self, member: Callable[[], QueryBody], words: tuple[str, ...]) -> QueryBody:
        """Queries with some of the set operations between them, from left to right; INTERSECT binds tighter."""
        body = member()
        while any(self.looking_at(word) for word in words):
            start = self._index
            self._advance()
            kind = {"MINUS": "EXCEPT"}.get(self._prev.text.upper(), self._prev.text.upper())
            keeps_all = self.words("ALL")
            if not keeps_all:
                self.words("DISTINCT")
            if self.looking_at("BY", "NAME"):
                self.refuse(f"{kind} BY NAME", "columns go by their places: name them in the order of the first query")
            at = self.stretch_from(start)
            body = SetOperation(kind, keeps_all, body, body_named_by_place(member()), at)
        return body

    def _common_table(self) -> CommonTable:
        name = self.name("a name for the query")
        columns = self.names("columns") if self.ahead(TokenType.L_PAREN) else ()
        self.expect_words("AS", hint="write WITH name AS (SELECT …) SELECT … FROM name")
        query = self.in_parentheses(self.query)
        query, columns = named_by_place(query, columns) if columns else (query, columns)
        return CommonTable(name, columns, query)

    def _query_term(self) -> QueryBody:
        if self.ahead(TokenType.L_PAREN):
            return self.in_parentheses(self.query)
        if self.looking_at("TABLE"):
            return self._whole_table()
        return self.values() if self.looking_at("VALUES") else self.select()

    def _whole_table(self) -> Select:
        """`TABLE a` is `SELECT * FROM a`."""
        index = self._index
        self.expect_words("TABLE")
        source = self.from_item()
        at = self.stretch_from(index)
        return Select((), False, (SelectItem(None, None, None, at),), source, None, (), at)

    def _from_before(self) -> FromPart:
        """`FROM a SELECT x`, as in Hive: FROM, and what stands before SELECT."""
        index = self._index
        self.expect_words("FROM")
        source = self.from_parts()
        self.refuse_clause()
        if self.looking_at("INSERT"):
            self.refuse("FROM … INSERT", "write each by itself: INSERT INTO sink SELECT … FROM …")
        if self.looking_at("MAP") or self.looking_at("REDUCE"):
            self.refuse(f"{self._curr.text.upper()} … USING", NO_PROGRAM)
        if not self.looking_at("SELECT"):
            self.refuse("FROM without SELECT", "write SELECT * FROM …", self.stretch_from(index))
        return source

    def select(self) -> Select:
        """A SELECT, up to the first token that is none of its own."""
        index = self._index
        before = self._from_before() if self.looking_at("FROM") else None
        self.expect_words("SELECT")
        hints = self.hints()
        distinct = False
        if self.looking_at("DISTINCT") and self._next.token_type is not TokenType.DOT:
            distinct = self.words("DISTINCT")
            if self.looking_at("ON") and self._next.token_type is TokenType.L_PAREN:
                self.refuse("DISTINCT ON", FIRST_OF_EACH)
        elif self.looking_at("ALL"):
            self.words("ALL")
        items = self.separated(self._item)
        if before is None and not self.words("FROM"):
            self.refuse_clause()
            self.expected("FROM", hint="a query reads at least one stream: SELECT … FROM stream")
        source = before or self.from_parts()
        source, items = self._with_elements(source, items)
        where = self.condition() if self.words("WHERE") else None
        group_by: tuple[Code, ...] = ()
        grouping_sets: tuple[tuple[int, ...], ...] = ()
        groups_by_all = False
        if self.words("GROUP", "BY"):
            groups_by_all = self.words("ALL")
            if not groups_by_all:
                group_by, grouping_sets = self.grouping()
        keys = [words_of(code.tokens) for code in group_by if is_one_call(code.tokens)]
        items = [i if i.code is None else replace(i, over=self._over_aggregates(i.code, keys)) for i in items]
        having = None
        if self.words("HAVING"):
            condition = self.condition()
            having = self._over_aggregates(condition, keys) or OverAggregates(condition, ())
        windows = self.windows()
        qualify = self.condition() if self.words("QUALIFY") else None
        windows |= self.windows()
        items = self.numbered(items, windows)
        at = self.stretch_from(index)
        tokens = self._tokens[index : self._index]
        named = frozenset(fold(token.text) for token in tokens if token.token_type is not TokenType.STRING)
        made = Select(
            tuple(hints),
            distinct,
            tuple(items),
            with_names_for_queries(source),
            where,
            group_by,
            at,
            groups_by_all,
            having,
            named,
            grouping_sets,
        )

        def over(code: Code) -> OverAggregates | None:
            return self._over_aggregates(code, keys)

        return self.over_groups(made, over) if qualify is None else self.qualified(made, windows, qualify, over)

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
        alias: Name | None = None
        several: tuple[Name, ...] = ()
        says_as = self.words("AS")
        if says_as and self.ahead(TokenType.L_PAREN) and _gives_elements(code):
            several = self.names("a name for a column")
        elif says_as or self.name_ahead():
            alias = self.name("a name for the column")
        return SelectItem(code, None, alias, self.stretch_from(index), several)

    def _with_elements(self, source: FromPart, items: list[SelectItem]) -> tuple[FromPart, list[SelectItem]]:
        """`SELECT explode(x) AS y` is all columns of a LATERAL VIEW."""
        found: list[SelectItem] = []
        for number, item in enumerate(items):
            code = item.code
            if code is None or not _gives_elements(code):
                found.append(item)
                continue
            inner = self.among(code.tokens)
            function = inner.name("a function").text.lower()
            argument = inner.elements_argument()
            title = Name(f"{function}_{number + 1}", item.at)
            columns = item.several if item.alias is None else (item.alias,)
            is_outer = function.endswith("_outer")
            source = FromElements(source, function, argument, is_outer, title, columns, item.at)
            found.append(SelectItem(None, title, None, item.at))
        return source, found

    def _over_aggregates(self, code: Code, keys: list[tuple[str, ...]]) -> OverAggregates | None:
        """An expression over aggregates, or over more than one key of the groups as it is; None if it is neither."""
        calls = list(calls_in(code.tokens, keys))
        if not any(end - begin < len(code.tokens) or is_aggregate for begin, end, is_aggregate in calls):
            return None
        read = [(self.among(code.tokens[begin:end]), is_aggregate) for begin, end, is_aggregate in calls]
        tokens = around(code.tokens, calls)
        outer = self.among(tokens).condition()
        return OverAggregates(
            Code(mark_calls(outer.node), tuple(tokens), code.at),
            tuple(inner._aggregate_call() if is_aggregate else inner.condition() for inner, is_aggregate in read),
        )

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
        ordering: tuple[OrderItem, ...] = ()
        if self.words("WITHIN", "GROUP"):
            self.expect_symbol(TokenType.L_PAREN, "(")
            self.expect_words("ORDER", "BY")
            ordering = tuple(self.separated(self._order_item))
            self.expect_symbol(TokenType.R_PAREN, ")")
        where = None
        if self.words("FILTER"):
            self.expect_symbol(TokenType.L_PAREN, "(")
            self.expect_words("WHERE")
            where = self.condition()
            self.expect_symbol(TokenType.R_PAREN, ")")
        if not self.at_end:
            self.expected("the end of an aggregate")
        at = self.stretch_from(index)
        return AggregateCall(name, tuple(arguments), is_star, distinct, ignores_nulls, where, at, ordering)

    def _nulls(self) -> bool:
        """`IGNORE NULLS`; `RESPECT NULLS` is what is meant without it."""
        ignores = self.words("IGNORE", "NULLS")
        if not ignores:
            self.words("RESPECT", "NULLS")
        return ignores

    def _star(self, of: Name | None, index: int) -> SelectItem:
        for word, hint in STARS.items():
            if self.looking_at(word):
                self.refuse(f"* {word}", hint)
        without = self.names("the columns to leave out") if self.words("EXCEPT") else ()
        return SelectItem(None, of, None, self.stretch_from(index), without=without)

    # EXISTS and IN: sqlglot reads the predicate and asks for a query; it gets ours.

    def _parse_select_query(
        self,
        nested: bool = False,  # noqa: ARG002 - sqlglot's signature
        table: bool = False,  # noqa: ARG002
        parse_subquery_alias: bool = True,  # noqa: ARG002
        parse_set_operation: bool = True,  # noqa: ARG002
    ) -> exp.Expr | None:
        # A column may be called values.
        is_column = self.looking_at("VALUES") and self._next.token_type not in _BEGIN_VALUES
        if self.at_end or not self.begins_query(self._index) or is_column or self.looking_at("TABLE"):
            return None
        index = self._index
        query = self.query()
        node = exp.Select()
        node.meta["query"] = query
        node.meta["tokens_inside"] = tuple(self._tokens[index : self._index])
        node.meta["at"] = self.stretch_from(index)
        return node


def _gives_elements(code: Code) -> bool:
    """Whether an expression is one call of a function that gives rows."""
    return is_one_call(code.tokens) and code.tokens[0].text.lower() in ELEMENT_FUNCTIONS
