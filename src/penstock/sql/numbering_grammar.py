"""The grammar of numbered rows: `ROW_NUMBER() OVER (…)`, windows named by WINDOW, and QUALIFY.

`SELECT … FROM … QUALIFY c` is `SELECT * FROM (SELECT … FROM …) WHERE c`: of the items that number rows c names the
alias, and a `ROW_NUMBER() OVER (…)` in c itself becomes an item that `*` leaves out, as does a column that SELECT does
not give. Hints and DISTINCT are those of
the query around. So whoever binds a query knows numbers in FROM alone (`first_rows`).

Groups are numbered by a query around them: `SELECT k, ROW_NUMBER() OVER (ORDER BY count(*)) AS rn FROM … GROUP BY k`
is `SELECT k, ROW_NUMBER() OVER (ORDER BY n) AS rn FROM (SELECT k, count(*) AS n FROM … GROUP BY k)`, where every item
has a name by which it can be called.

Not decided here: what may be numbered, and which functions of windows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.names import fold
from penstock.sql.aggregate_calls import call_end, is_one_call, words_of
from penstock.sql.grouping_grammar import GroupingGrammar
from penstock.sql.tree import (
    Code,
    FromQuery,
    Name,
    OrderItem,
    OverAggregates,
    QueryText,
    RowNumber,
    Select,
    SelectItem,
    Stretch,
)

Windows = dict[str, tuple[Token, ...]]
"""What WINDOW names, by folded names: each with its parentheses."""

Over = Callable[[Code], OverAggregates | None]
"""What makes of an expression one over aggregates and keys; None where it is none."""

_HIDDEN = "__qualify_"
_BY = "__numbered_by_"


class NumberingGrammar(GroupingGrammar):
    """ROW_NUMBER(), WINDOW, QUALIFY."""

    def windows(self) -> Windows:
        """`WINDOW w AS (…), …`, if it stands next."""
        found: Windows = {}
        if not self._names_windows():
            return found
        self.words("WINDOW")
        while True:
            name = self.name("a name for the window")
            self.expect_words("AS")
            index = self._index
            self.expect_symbol(TokenType.L_PAREN, "(")
            self._advance(call_end(self._tokens, index) - self._index)
            found[fold(name.text)] = tuple(self._tokens[index : self._index])
            if not self.symbol(TokenType.COMMA):
                return found

    def _names_windows(self) -> bool:
        """Whether `WINDOW w AS` stands next, and no window of a stream."""
        index = self._index
        names = self.words("WINDOW") and not self.at_end and self.is_name(self._curr)
        self._retreat(index)
        return names

    def numbered(self, items: list[SelectItem], windows: Windows) -> list[SelectItem]:
        """The items, those marked that number rows."""
        return [
            item
            if item.code is None
            else replace(item, number=self._row_number(item.code, self._with_windows(item.code.tokens, windows)))
            for item in items
        ]

    def over_groups(self, made: Select, over: Over) -> Select:
        """A SELECT that numbers groups, as one around them; as it is where it numbers none, or cannot name them."""
        numbers = [item for item in made.items if item.number is not None]
        others = [item for item in made.items if item.number is None]
        has_groups = bool(made.group_by or made.having) or any(item.over is not None for item in others)
        names = [fold(name) for item in others if (name := _name_of(item)) is not None]
        if not has_groups or len(numbers) != 1 or made.distinct or made.grouping_sets:
            return made
        if len(set(names)) < len(others):
            return made
        hidden: list[SelectItem] = []

        def by_name(code: Code) -> Code:
            return self.among([self._called(code.tokens, others, hidden, _BY, code.at)]).condition()

        def shown(item: SelectItem) -> SelectItem:
            number = item.number
            if number is None:
                assert item.code is not None
                return SelectItem(by_name(item.code), None, item.alias, item.at)
            ordering = tuple(replace(one, code=by_name(one.code)) for one in number.ordering)
            return replace(item, over=None, number=replace(number, partition=partition, ordering=ordering))

        known = {words_of(item.code.tokens) for item in others if item.code is not None}
        keys = numbers[0].number.partition if numbers[0].number is not None else ()
        partition = tuple(by_name(code if words_of(code.tokens) in known else _by_start(code)) for code in keys)
        items = tuple(map(shown, made.items))
        added = [replace(one, over=None if one.code is None else over(one.code)) for one in hidden]
        if made.groups_by_all and any(one.over is None for one in added):
            return made  # It would be a key.
        below = (*others, *added)
        rows = FromQuery(QueryText((), replace(made, hints=(), items=below), made.at), None, None, (), made.at)
        return Select(made.hints, False, items, rows, None, (), made.at, words=made.words)

    def qualified(self, inner: Select, windows: Windows, qualify: Code, over: Over) -> Select:
        """`SELECT … QUALIFY c`, as the query around the SELECT."""
        tokens = self._with_windows(qualify.tokens, windows)
        hidden: list[SelectItem] = []
        found: list[Token] = []
        place = 0
        while place < len(tokens):
            end = _numbering_end(tokens, place)
            if end is None:
                found.append(tokens[place])
                place += 1
                continue
            found.append(self._in_place_of(tokens[place:end], inner.items, hidden, qualify))
            place = end
        if not any(item.number is not None for item in (*inner.items, *hidden)):
            hint = "number the rows: QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= 3; or write WHERE"
            self.refuse("QUALIFY without ROW_NUMBER() OVER (…)", hint, qualify.at)
        where = self._over_items(found, inner.items, hidden, qualify)
        items = (*inner.items, *hidden)
        rows = FromQuery(
            QueryText((), self.over_groups(replace(inner, hints=(), distinct=False, items=items), over), inner.at),
            None,
            None,
            (),
            inner.at,
        )
        without = tuple(item.alias for item in hidden if item.alias is not None)
        star = SelectItem(None, None, None, inner.at, without=without)
        return Select(inner.hints, inner.distinct, (star,), rows, where, (), inner.at, words=inner.words)

    def _over_items(
        self, tokens: list[Token], items: Sequence[SelectItem], hidden: list[SelectItem], qualify: Code
    ) -> Code:
        """The condition over what the SELECT gives; a column that it does not give becomes an item that is left out."""
        condition = self.among(tokens).condition()
        given = {fold(name) for item in (*items, *hidden) if (name := _name_of(item)) is not None}
        is_star = any(item.code is None for item in items)
        found: list[Token] = []
        columns = {node.parts[0].meta["start"]: node for node in condition.node.find_all(exp.Column)}
        end = -1
        for token in tokens:
            node = columns.get(token.start)
            is_one = node is not None and (len(node.parts) > 1 or not (is_star or fold(node.name) in given))
            if node is not None and is_one:
                end = node.parts[-1].meta["end"]
                own = [t for t in tokens if token.start <= t.start <= end]
                found.append(self._in_place_of(own, items, hidden, qualify))
            elif token.start > end:
                found.append(token)
        return self.among(found).condition()

    def _in_place_of(
        self, tokens: Sequence[Token], items: Sequence[SelectItem], hidden: list[SelectItem], qualify: Code
    ) -> Token:
        """The name of the item that some tokens are; it is added where there is none."""
        return self._called(tokens, items, hidden, _HIDDEN, qualify.at)

    def _called(
        self, tokens: Sequence[Token], items: Sequence[SelectItem], hidden: list[SelectItem], called: str, at: Stretch
    ) -> Token:
        same = (item for item in (*items, *hidden) if item.code and words_of(item.code.tokens) == words_of(tokens))
        name = next((name for item in same if (name := _name_of(item)) is not None), None)
        if name is None:
            code = self.among(tokens).condition()
            name = f"{called}{len(hidden) + 1}"
            hidden.append(SelectItem(code, None, Name(name, at), at, number=self._row_number(code, code.tokens)))
        return Token(TokenType.VAR, name, start=tokens[0].start, end=tokens[0].end)

    def _with_windows(self, tokens: Sequence[Token], windows: Windows) -> tuple[Token, ...]:
        """The tokens with what a window is in the place of its name."""
        found: list[Token] = []
        for token in tokens:
            names_window = bool(found) and found[-1].text.upper() == "OVER" and self.is_name(token)
            if names_window and fold(token.text) not in windows:
                at = Stretch(token.start, token.end + 1)
                self.stop(f"unknown window {token.text}", at, hint="name it: WINDOW w AS (PARTITION BY … ORDER BY …)")
            found += windows[fold(token.text)] if names_window else (token,)
        return tuple(found)

    def _row_number(self, code: Code, tokens: Sequence[Token]) -> RowNumber | None:
        """`ROW_NUMBER() OVER (…)`; None for any other expression."""
        if not isinstance(code.node, exp.Window) or tokens[0].text.upper() != "ROW_NUMBER":
            return None
        inner = self.among(list(tokens))
        inner._advance(3)
        inner.expect_words("OVER")
        inner.expect_symbol(TokenType.L_PAREN, "( or the name of a WINDOW")
        partition: list[Code] = []
        if inner.words("PARTITION", "BY"):
            partition = inner.separated(lambda: inner.code(inner._parse_disjunction, "a column to partition by"))
        inner.expect_words("ORDER", "BY", hint="the rows of a partition are numbered in an order")
        ordering = inner.separated(inner._order_item)
        if not inner.symbol(TokenType.R_PAREN):
            inner.expected(")", hint="ROW_NUMBER() has no frame")
        return RowNumber(tuple(partition), tuple(ordering), code.at) if inner.at_end else None

    def _order_item(self) -> OrderItem:
        code = self.code(self._parse_disjunction, "a column to order by")
        descending = self.words("DESC")
        if not descending:
            self.words("ASC")
        nulls_first = not descending
        if self.words("NULLS", "FIRST"):
            nulls_first = True
        elif self.words("NULLS", "LAST"):
            nulls_first = False
        return OrderItem(code, descending, nulls_first)


def _numbering_end(tokens: Sequence[Token], place: int) -> int | None:
    """After the `ROW_NUMBER() OVER (…)` that begins at a place; None if none does."""
    words = [token.text.upper() for token in tokens[place : place + 5]]
    return call_end(tokens, place + 4) if words == ["ROW_NUMBER", "(", ")", "OVER", "("] else None


def _by_start(code: Code) -> Code:
    """A window as its start, which says as much and can be stored; any other key as it is."""
    if not is_one_call(code.tokens) or code.tokens[0].text.lower() != "window":
        return code
    last = code.tokens[-1]
    ends = (
        Token(TokenType.DOT, ".", start=last.end, end=last.end),
        Token(TokenType.VAR, "start", start=last.end, end=last.end),
    )
    return replace(code, tokens=(*code.tokens, *ends))


def _name_of(item: SelectItem) -> str | None:
    """The name of an item that has one, or is a column."""
    if item.alias is not None:
        return item.alias.text
    return str(item.code.node.name) if item.code is not None and isinstance(item.code.node, exp.Column) else None
