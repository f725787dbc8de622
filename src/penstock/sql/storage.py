"""The grammar of USING format OPTIONS (…): where the rows of a stream come from, or those of a sink go."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.sql.cursor import Cursor
from penstock.sql.tree import StorageClause


class StorageGrammar(Cursor):
    """A format and its options."""

    def storage(self) -> StorageClause:
        """After USING."""
        if self.ahead(TokenType.STRING):
            self.stop("a format stands without quotes", hint=f"write USING {self._curr.text}")
        parts = [self.name("a format, such as parquet").text]
        while self.symbol(TokenType.DOT):
            parts.append(self.name("the rest of the format's name").text)
        options: list[tuple[str, str]] = []
        seen: set[str] = set()

        def option() -> tuple[str, str]:
            index = self._index
            key, value = self._option()
            if key.lower() in seen:
                self.stop(f"option {key} stands twice", self.stretch_from(index))
            seen.add(key.lower())
            return key, value

        if self.words("OPTIONS"):
            options = self.in_parentheses(lambda: self.separated(option))
        return StorageClause(".".join(parts), tuple(options))

    def _any_word(self, what: str) -> str:
        """A word that need not be a name: `kafka.group.id` is an option."""
        if self.at_end or not self._curr.text.isidentifier():
            self.expected(what)
        self._advance()
        return self._prev.text

    def _option(self) -> tuple[str, str]:
        if self.ahead(TokenType.STRING):
            self._advance()
            key = self._prev.text
        else:
            parts = [self.name("an option's name").text]
            while self.symbol(TokenType.DOT):
                parts.append(self._any_word("the rest of the option's name"))
            key = ".".join(parts)
        self.symbol(TokenType.EQ)
        if self.ahead(TokenType.STRING):
            return key, self.string("a value")
        if self.words("TRUE") or self.words("FALSE"):
            return key, self._prev.text.lower()
        negative = "-" if self.symbol(TokenType.DASH) else ""
        self.number(f"a value for {key}: a string, a number, TRUE or FALSE")
        return key, negative + self._prev.text
