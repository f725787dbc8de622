"""Reading tokens: sqlglot's parser, with the few moves that our own clauses are written in.

Expressions and types are sqlglot's whole. Our clauses match words, whatever token kind sqlglot gives them, so that a
new keyword of sqlglot never takes a word of our language away. A parse that fails raises `Stop`, which is a ParseError,
because sqlglot itself backtracks on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from decimal import Decimal
from typing import NoReturn, TypeVar

from sqlglot import exp, parser
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import MachineError, Mistake, Refused, SyntaxMistake
from penstock.model.names import nearest
from penstock.model.spans import Auto, Rows, Span, Unit, Window, Within, written_span
from penstock.sql.source import SourceText
from penstock.sql.tree import Code, Name, Stretch

T = TypeVar("T")

_KEYWORD = re.compile(r"\b[A-Z]{2,}\b")
_WORD = re.compile(r"[^\W\d]\w*\Z")
_NOT_WORDS = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.RAW_STRING})

NOT_NAMES = frozenset(
    """ALL AND ANTI AS BETWEEN BY CASE CAST CREATE CROSS DISTINCT ELSE END EXCEPT EXISTS FALSE FROM FULL GROUP HAVING IN
    INNER INSERT INTERSECT INTO IS JOIN LATERAL LEFT LIKE MINUS NATURAL NOT NULL ON OR ORDER OUTER RIGHT
    SELECT SEMI THEN TRUE UNION USING WHEN WHERE WITH WITHIN""".split()  # noqa: SIM905 - a list would be a page
)
"""Words that are a name only in backticks."""

_MOST_ROWS = 10**18

_MOST_DIGITS = 38
"""Of a number outside an expression: as many as Spark's widest."""

UNITS = {name: unit for unit in Unit for name in (unit.name, unit.name + "S")}


if not (parser.__file__ or "").endswith(".py"):
    raise MachineError(
        "sqlglot is installed in its compiled form (sqlglotc), whose parser no other can be made of",
        hint="pip uninstall sqlglotc; sqlglot without it reads the same",
    )


class Stop(ParseError):
    """A mistake that ends the parse of a statement, or of one element of it."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.message)
        self.mistake = mistake


_OUTER_SIGN = (TokenType.L_PAREN, TokenType.PLUS, TokenType.R_PAREN)
"""Oracle's `b.y(+)`, which sqlglot takes for a call."""


class Cursor(SparkParser):
    """A sqlglot parser over the tokens of one statement of a script."""

    source: SourceText

    def start(self, tokens: list[Token], source: SourceText) -> None:
        """Stand before the first token of a statement."""
        self.reset()
        self.source = source
        self.sql = source.text
        self._chunks = [tokens]
        self._advance_chunk()

    # Places

    @property
    def at_end(self) -> bool:
        """Whether every token of the statement is read."""
        return self._index >= self._tokens_size

    def stretch_from(self, index: int) -> Stretch:
        """From that token to the last one read."""
        first = self._tokens[min(index, self._tokens_size - 1)]
        last = self._tokens[max(index, self._index - 1)] if self._index > index else first
        return Stretch(first.start, last.end + 1)

    def here(self) -> Stretch:
        """The next token, or just after the last one."""
        if not self.at_end:
            return Stretch(self._curr.start, self._curr.end + 1)
        end = self._tokens[-1].end + 1 if self._tokens else 0
        return Stretch(end, end + 1)

    def found(self) -> str:
        """The next token, as an error names it."""
        if self.at_end:
            return "the end of the statement"
        return self.source.text[self._curr.start : self._curr.end + 1].split("\n")[0]

    # Failing

    def stop(
        self, message: str, at: Stretch | None = None, *, kind: type[Mistake] = SyntaxMistake, hint: str | None = None
    ) -> NoReturn:
        """Give up here."""
        raise Stop(kind(message, self.source.place(at or self.here()), hint=hint))

    def expected(self, what: str, *, hint: str | None = None, or_words: tuple[str, ...] = ()) -> NoReturn:
        """Give up: something else had to stand here, or a word is misspelt; `or_words` could stand here too."""
        wanted = (*_KEYWORD.findall(what), *or_words)
        for token in (self._curr, self._prev):
            # A word that sqlglot knows is not misspelt, it is in the wrong place.
            if token and token.token_type is TokenType.VAR and token.text.upper() not in wanted:
                meant = nearest(token.text, wanted) if len(token.text) > 2 else None
                if meant is not None:
                    at = Stretch(token.start, token.end + 1)
                    self.stop(f"expected {what}, found {token.text}", at, hint=f"did you mean {meant}?")
        self.stop(f"expected {what}, found {self.found()}", hint=hint)

    def refuse(self, construct: str, hint: str, at: Stretch | None = None) -> NoReturn:
        """Give up: SQL has this, our language has not."""
        self.stop(f"{construct} is not in Penstock's language", at, kind=Refused, hint=hint)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """sqlglot's own complaints, in our words."""
        at = Stretch(token.start, token.end + 1) if token else self.here()
        opening, _, rest = message.partition(" ")
        if opening in ("Expecting", "Expected"):
            self.stop(f"expected {rest}, found {self.found()}", self.here())
        if message.startswith("Required keyword"):
            # sqlglot names its own classes here; what it misses is an operand.
            self.stop(f"expected an expression, found {self.found()}", self.here(), hint=self._backticks(NOT_NAMES))
        if self.at_end:
            self.stop("the statement ends too early")
        if "Unexpected token" in message:
            self.stop(f"unexpected {self.found()}", at)
        self.stop(f"cannot read this expression: {message[:1].lower()}{message[1:]}", at)

    # Moving

    def words(self, *wanted: str) -> bool:
        """Read these words, if all stand next. sqlglot makes one token of `PRIMARY KEY`, so tokens are split."""
        index, left = self._index, list(wanted)
        while left and index < self._tokens_size:
            token = self._tokens[index]
            given = [] if token.token_type in _NOT_WORDS else token.text.upper().split()
            if not given or left[: len(given)] != given:
                return False
            left = left[len(given) :]
            index += 1
        if left:
            return False
        self._advance(index - self._index)
        return True

    def looking_at(self, *wanted: str) -> bool:
        """Whether these words stand next."""
        index = self._index
        matched = self.words(*wanted)
        self._retreat(index)
        return matched

    def expect_words(self, *wanted: str, hint: str | None = None) -> None:
        """Read these words, or give up."""
        if not self.words(*wanted):
            self.expected(" ".join(wanted), hint=hint)

    def symbol(self, kind: TokenType) -> bool:
        """Read a punctuation mark, if it stands next."""
        return bool(self._match(kind))

    def ahead(self, *kinds: TokenType) -> bool:
        """Whether the next token is of one of these kinds."""
        return not self.at_end and self._curr.token_type in kinds

    def expect_symbol(self, kind: TokenType, shown: str) -> None:
        """Read a punctuation mark, or give up."""
        if not self.symbol(kind):
            self.expected(shown)

    def separated(self, parse: Callable[[], T]) -> list[T]:
        """One or more, commas between."""
        items = [parse()]
        while self.symbol(TokenType.COMMA):
            items.append(parse())
        return items

    def in_parentheses(self, parse: Callable[[], T]) -> T:
        """`( … )`."""
        self.expect_symbol(TokenType.L_PAREN, "(")
        inner = parse()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return inner

    # Small pieces

    def is_name(self, token: Token) -> bool:
        """Whether a token can be an identifier where one must stand."""
        if token.token_type is TokenType.IDENTIFIER:
            return bool(token.text)
        if token.token_type in _NOT_WORDS:
            return False
        return bool(_WORD.match(token.text)) and token.text.upper() not in NOT_NAMES

    def name(self, what: str) -> Name:
        """An identifier."""
        if self.at_end or not self.is_name(self._curr):
            self.expected(what, hint=self._backticks())
        index = self._index
        self._advance()
        return Name(self._prev.text, self.stretch_from(index))

    def _backticks(self, but: Set[str] = frozenset()) -> str | None:
        """Advice for a word that cannot be a name as it stands; none where it is more likely the next clause."""
        if self.at_end or self._curr.token_type in _NOT_WORDS or not _WORD.match(self._curr.text):
            return None
        if self._curr.text.upper() in but:
            return None
        return f"to use the word as a name, put it in backticks: `{self._curr.text}`"

    def names(self, what: str) -> tuple[Name, ...]:
        """`(a, b, …)`."""
        if not self.ahead(TokenType.L_PAREN):
            self.expected(f"{what} in parentheses")
        return tuple(self.in_parentheses(lambda: self.separated(lambda: self.name(what))))

    def number(self, what: str) -> Decimal:
        """An unsigned number."""
        if not self.ahead(TokenType.NUMBER):
            self.expected(what)
        try:
            value = Decimal(self._curr.text)
        except ArithmeticError:
            self.expected(what)
        if value.adjusted() > _MOST_DIGITS or len(value.as_tuple().digits) > _MOST_DIGITS:
            self.stop(f"a number here has at most {_MOST_DIGITS} digits")
        self._advance()
        # sqlglot reads 10L as 10::BIGINT, three tokens at one place.
        if self.ahead(TokenType.DCOLON) and self._curr.start == self._prev.start:
            self.expected("a number without a suffix")
        return value

    def whole_number(self, what: str) -> int:
        """An unsigned whole number."""
        at = self.here()
        value = self.number(what)
        if value != value.to_integral_value():
            self.stop(f"{what} must be whole", at)
        if value > _MOST_ROWS:
            self.stop(f"{what} is at most {_MOST_ROWS}", at)
        return int(value)

    def string(self, what: str) -> str:
        """A string literal; as in Spark, 'it''s' holds a quote, and literals with a blank between are joined."""
        if not self.ahead(TokenType.STRING):
            self.expected(what)
        text, end = "", -1
        while self.ahead(TokenType.STRING):
            text += (self.source.text[end] if self._curr.start == end + 1 else "") + self._curr.text
            end = self._curr.end
            self._advance()
        return text

    def code(self, parse: Callable[[], exp.Expr | None], what: str) -> Code:
        """An expression, with the tokens it was read from."""
        index = self._index
        node = parse()
        if node is None or self._index == index:
            self._retreat(index)
            self.expected(what, hint=self._backticks(NOT_NAMES))
        tokens = tuple(self._tokens[index : self._index])
        for opening, sign, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if (opening.token_type, sign.token_type, closing.token_type) == _OUTER_SIGN:
                hint = "the stream that may be absent stands in an outer join: a LEFT JOIN b ON a.x = b.y"
                self.refuse("an outer join by (+)", hint, Stretch(opening.start, closing.end + 1))
        return Code(node, tokens, self.stretch_from(index))

    def condition(self) -> Code:
        """A condition."""
        return self.code(self._parse_disjunction, "a condition")

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._remembered(super()._parse_disjunction)

    def _parse_conjunction(self) -> exp.Expr | None:
        return self._remembered(super()._parse_conjunction)

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        return self._remembered(lambda: super(Cursor, self)._parse_equality(parse_is))

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._remembered(super()._parse_bitwise)

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        return self._remembered(lambda: super(Cursor, self)._parse_term(parse_mod))

    def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
        return self._remembered(lambda: super(Cursor, self)._parse_factor(parse_mod))

    def _parse_unary(self) -> exp.Expr | None:
        return self._remembered(super()._parse_unary)

    def _parse_paren(self) -> exp.Expr | None:
        """sqlglot takes `(a > 1 NULL)` for a condition with a name of its own; in SQL that is a slip."""
        node = super()._parse_paren()
        if isinstance(node, exp.Paren | exp.Tuple):
            for inner in (node.this, *node.expressions):
                if isinstance(inner, exp.Alias):
                    meta = inner.args["alias"].meta
                    at = Stretch(meta["start"], meta["end"] + 1) if "start" in meta else self.here()
                    self.stop(f"expected ), found {inner.alias}", at)
        return node

    def _remembered(self, parse: Callable[[], exp.Expr | None]) -> exp.Expr | None:
        """Conditions and their operands remember their tokens, so that each has its own text and place."""
        index = self._index
        node = parse()
        if node is not None:
            node.meta.setdefault("tokens", tuple(self._tokens[index : self._index]))
        return node

    # Lengths

    def span(self, what: str, *, signed: bool = False) -> Span:
        """`3 SECONDS`, `INTERVAL 3 SECONDS` as Spark writes it, or a bare number."""
        index = self._index
        negative = signed and self.symbol(TokenType.DASH)
        self.words("INTERVAL")
        amount = self.number(what)
        unit = None
        if not self.at_end and self._curr.token_type not in _NOT_WORDS and self._curr.text.upper() in UNITS:
            unit = UNITS[self._curr.text.upper()]
            self._advance()
        elif not self.at_end and self.is_name(self._curr) and self._curr.text.upper() not in ("ROWS", "ROW"):
            self.expected("a unit of time", hint=f"the units are: {', '.join(u.name + 'S' for u in Unit)}")
        try:
            return written_span(-amount if negative else amount, unit)
        except ValueError as error:
            self.stop(str(error), self.stretch_from(index))

    def within(self) -> Within | None:
        """`[WITHIN n ROWS | duration | AUTO]`."""
        if not self.words("WITHIN"):
            return None
        if self.words("AUTO"):
            return Auto()
        if not self.at_end and self._next and self._next.text.upper() in ("ROWS", "ROW"):
            count = self.whole_number("a number of rows")
            self._advance()
            return Rows(count)
        return self.span("a number of ROWS, a duration or AUTO")

    def time_window(self) -> Window | None:
        """`[WINDOW [x, y]]`; a side that is `*` is unbounded."""
        if not self.words("WINDOW"):
            return None
        index = self._index
        if not self.symbol(TokenType.L_BRACKET):
            self.expected("[", hint="a window is written WINDOW [x, y]; a side without a limit is *")
        low = self._bound()
        self.expect_symbol(TokenType.COMMA, "a comma and the second bound")
        high = self._bound()
        self.expect_symbol(TokenType.R_BRACKET, "]")
        try:
            return Window(low, high)
        except ValueError as error:
            self.stop(str(error), self.stretch_from(index), hint="the smaller bound stands first")

    def _bound(self) -> Span | None:
        return None if self.symbol(TokenType.STAR) else self.span("a duration, 0 or *", signed=True)
