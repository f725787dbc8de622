"""The user's own text, with the columns in it resolved.

What only Spark evaluates is handed to Spark as it was written: the same tokens, one blank where there was any space,
comments gone, each column spelt as it is declared and with its alias before it. Reading such a text again gives it
back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.tree import Stretch


def spelt(source: str, tokens: tuple[Token, ...], replaced: Mapping[int, str] | None = None) -> str:
    """The tokens as text; `replaced` gives what stands instead of the token at an offset."""
    text, last = "", None
    for token in tokens:
        if last is not None and token.start <= last:
            continue  # sqlglot reads 10L as three tokens at one place
        own = (replaced or {}).get(token.start, source[token.start : token.end + 1])
        if own and last is not None and token.start > last + 1:
            text += " "
        text += own
        last = token.end
    return text


def tokens_of(node: exp.Expr, otherwise: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens that a condition was read from."""
    tokens = node.meta.get("tokens")
    return tokens if isinstance(tokens, tuple) else otherwise


def stretch_of(tokens: tuple[Token, ...]) -> Stretch:
    """Where tokens stand."""
    return Stretch(tokens[0].start, tokens[-1].end + 1)


def place_of(node: exp.Expr) -> Stretch | None:
    """Where a node stands, as far as sqlglot remembers."""
    places = [n.meta for n in node.walk() if "start" in n.meta]
    if not places:
        return None
    return Stretch(min(m["start"] for m in places), max(m["end"] for m in places) + 1)


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def unwrapped_tokens(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens of what stands in parentheses, without these; where all of it does."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if not depth and place < len(tokens) - 1:
            return tokens
    is_wrapped = len(tokens) > 1 and tokens[0].token_type is TokenType.L_PAREN
    return unwrapped_tokens(tokens[1:-1]) if is_wrapped else tokens


def string_literal(value: str) -> str:
    """A Spark string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
