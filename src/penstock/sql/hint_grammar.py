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


class HintGrammar(DeclarationGrammar):
    """The hints of a SELECT."""

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
