"""The grammar of hints: `/*+ BUDGET(100000 ROWS), EVICT(prob) */`. sql/hints says what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Self

from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.names import nearest
from penstock.sql.declarations import DeclarationGrammar
from penstock.sql.tree import Hint, Stretch

HINTS = ("BUDGET", "EVICT", "VALUE", "ARCHIVE", "SHED", "ERROR", "MONITOR")


OF_SPARK = frozenset(
    [
        "BROADCAST",
        "BROADCASTJOIN",
        "MAPJOIN",
        "MERGE",
        "MERGEJOIN",
        "SHUFFLE_MERGE",
        "SHUFFLE_HASH",
        "SHUFFLE_REPLICATE_NL",
        "COALESCE",
        "REPARTITION",
        "REPARTITION_BY_RANGE",
        "REBALANCE",
        "SKEW",
    ]
)
"""Hints by which Spark is told how to join and to deal out rows."""


class HintGrammar(DeclarationGrammar):
    """The hints of a SELECT."""

    passed_over = False
    """Whether the last hint that was read was one of Spark's."""

    def among(self, tokens: Sequence[Token]) -> Self:
        """Another one like this, before some of the tokens."""
        inner = type(self)(dialect=self.dialect)
        inner.start(list(tokens), self.source)
        return inner

    def hints(self) -> list[Hint]:
        """The hints of a SELECT, if any stand next."""
        if not self.ahead(TokenType.HINT):
            return []
        token = self._curr
        self._advance()
        # Blanks before the hint keep every offset, so that its tokens have their true places.
        body = self.source.text[token.start + 3 : token.end - 1]
        tokens = self.dialect.tokenize(" " * (token.start + 3) + body)
        inner = self.among(tokens)
        if not tokens:
            self.stop("an empty hint", Stretch(token.start, token.end + 1), hint=f"the hints are: {', '.join(HINTS)}")
        hints = inner.separated(inner.hint)
        while not inner.at_end and (inner.passed_over or inner._curr.text.upper() in OF_SPARK):
            hints += inner.separated(inner.hint)  # Spark's may stand without a comma between them.
        if not inner.at_end:
            inner.expected(", between two hints")
        return [hint for hint in hints if hint is not None]

    def hint(self) -> Hint | None:
        """One hint; None for one of Spark's own, which changes no answer: how tables are joined Spark chooses."""
        index = self._index
        name = self.name("a hint").text.upper()
        self.passed_over = name in OF_SPARK
        if self.passed_over:
            if self.ahead(TokenType.L_PAREN):
                self.in_parentheses(self._skip_arguments)
            return None
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

    def _skip_arguments(self) -> None:
        while not self.at_end and not self.ahead(TokenType.R_PAREN):
            self._advance()

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
