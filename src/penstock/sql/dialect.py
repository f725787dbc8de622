"""Penstock's dialect of sqlglot, and the way from text to statements.

Spark's tokens, types and expressions are sqlglot's; the statements are ours. A script is cut at its semicolons first,
so that a mistake in one statement does not hide those in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SyntaxMistake
from penstock.model.names import nearest
from penstock.sql.cursor import Stop
from penstock.sql.lexical import Unreadable, quotes_of
from penstock.sql.queries import CLAUSE_WORDS, QueryGrammar
from penstock.sql.refused_words import OTHER_STATEMENTS
from penstock.sql.source import SourceText
from penstock.sql.terms import NAME_META
from penstock.sql.tree import BrokenDeclaration, Constraint, Insert, Name, Statement, Stretch

T = TypeVar("T")

_STATEMENTS = ("CREATE", "INSERT", "SELECT", "WITH")

_DEEPEST = 200
"""Parentheses within parentheses; deeper ones would exhaust Python's stack before they meant anything."""


class PenstockParser(QueryGrammar):
    """Statements of a script."""

    def statement(self) -> Statement:
        """One statement, to its end."""
        if self.words("CREATE"):
            made: Statement = self.create()
        elif self.words("INSERT"):
            made = self.insert()
        elif self.query_stands_next():
            query = self.with_insert()
            made = query if isinstance(query, Insert) else Insert(None, query, query.at)
        else:
            self.refuse_clause()
            for word, hint in OTHER_STATEMENTS.items():
                if self.looking_at(word):
                    self.refuse(word, hint)
            close = nearest(self._curr.text, _STATEMENTS)
            self.expected(
                "CREATE STREAM, CREATE TABLE, CREATE VIEW, CREATE SINK, INSERT INTO or SELECT",
                hint=f"did you mean {close}?" if close else None,
            )
        if not self.at_end:
            self.expected("; or the end of the script", or_words=CLAUSE_WORDS)
        return made

    def constraint_on(self) -> tuple[Constraint, Name]:
        """`CONSTRAINT ON stream`, as `penstock implies` takes it."""
        constraint = self.constraint()
        if constraint is None:
            self.expected(
                "a constraint",
                hint="such as PRIMARY KEY (a) ON stream, or ORDERED BY ts WITHIN 3 SECONDS ON stream",
            )
        self.expect_words("ON", hint="end with ON and the name of the stream")
        stream = self.name("a stream")
        if not self.at_end:
            self.expected("the end of the constraint")
        return constraint, stream


class Penstock(Spark):
    """The dialect."""

    Parser = PenstockParser
    ORIGINAL_NAME_META_KEY = NAME_META


def read_expression(source: SourceText, tokens: Sequence[Token]) -> exp.Expr:
    """The expression that some tokens of a script are, which were read before as a part of another."""
    parser = PenstockParser(dialect=Penstock())
    parser.start(list(tokens), source)
    return parser.condition().node


def read_statements(source: SourceText) -> list[Statement]:
    """The statements of a script; mistakes are left in `source`."""
    statements: list[Statement] = []
    for tokens in _statement_tokens(source):
        made = _read(source, tokens, PenstockParser.statement) or _broken(tokens)
        if made is not None:
            statements.append(made)
    return statements


def _broken(tokens: list[Token]) -> BrokenDeclaration | None:
    words = [token.text for token in tokens[:8]]
    said = [word for word in words if word.upper() not in _PASSED_OVER]
    if len(said) >= 3 and said[0].upper() == "CREATE" and said[1].upper() in ("STREAM", "TABLE", "VIEW", "SINK"):
        return BrokenDeclaration(said[1].upper(), said[2])
    return None


_PASSED_OVER = ("OR", "REPLACE", "TEMP", "TEMPORARY", "IF", "NOT", "EXISTS")
"""What may stand around the kind of what is declared."""


def read_constraint(source: SourceText) -> tuple[Constraint, Name] | None:
    """A constraint with its stream; mistakes are left in `source`."""
    tokens = _tokens(source)
    if not tokens:
        source.report(SyntaxMistake, "expected a constraint, found nothing", Stretch(0, 0))
        return None
    return _read(source, tokens, PenstockParser.constraint_on)


def _read(source: SourceText, tokens: list[Token], parse: Callable[[PenstockParser], T]) -> T | None:
    whole = Stretch(tokens[0].start, tokens[-1].end + 1)
    if (deep := _too_deep(tokens)) is not None:
        source.report(SyntaxMistake, f"nested deeper than {_DEEPEST} levels", Stretch(deep.start, deep.end + 1))
        return None
    parser = PenstockParser(dialect=Penstock())
    parser.start(tokens, source)
    try:
        return parse(parser)
    except Stop as stop:
        source.add(stop.mistake)
    except RecursionError:
        source.report(SyntaxMistake, "nested too deeply", whole)
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError, AssertionError) as error:
        # sqlglot reads a hundred dialects' expressions and trips over some texts; to the user both are one thing.
        source.report(SyntaxMistake, f"cannot read this: {error}".split("\n")[0], parser.here())
    return None


def _tokens(source: SourceText) -> list[Token]:
    try:
        return Penstock().tokenize(source.text)
    except TokenError:
        unreadable = quotes_of(source.text).unreadable or Unreadable(0, 1, "cannot read this text")
        source.report(SyntaxMistake, unreadable.message, Stretch(unreadable.start, unreadable.end))
        return []


def _statement_tokens(source: SourceText) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    tokens = _tokens(source)
    _check_hints_stand_after_select(source, tokens)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [tokens for tokens in statements if tokens]


def _check_hints_stand_after_select(source: SourceText, tokens: list[Token]) -> None:
    """sqlglot takes a hint anywhere else for a comment, and the user would never know."""
    read = {token.start for token in tokens if token.token_type is TokenType.HINT}
    for start in quotes_of(source.text).hints if tokens else ():
        if start not in read:
            source.report(
                SyntaxMistake, "a hint stands right after SELECT", Stretch(start, start + 3), hint="SELECT /*+ … */ a"
            )


def _too_deep(tokens: list[Token]) -> Token | None:
    depth = 0
    for token in tokens:
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            depth += 1
            if depth > _DEEPEST:
                return token
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET):
            depth -= 1
    return None
