"""Hypothesis strategies of the language: valid scripts over the whole grammar, and scripts spoilt in every way."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from tests.sql.spoiling import soup, spoilt
from tests.sql.written_queries import QueryWriter
from tests.sql.written_streams import StreamWriter, Tokens, maybe, sink_statement

_SINKS = ["out", "Late", "`the sink`"]
_BLANKS = [" ", " ", " ", "  ", "\n", "\t", "\r\n", " /* a comment */ ", " -- to the end\n", "\n\n"]


def written_statements(random: Random) -> list[Tokens]:
    """The statements of one valid script."""
    sinks = random.sample(_SINKS, random.randint(0, len(_SINKS)))
    writer = StreamWriter(random, sinks)
    statements = [writer.statement(stream) for stream in writer.streams]
    # Files only append, so that a query with changing groups may write to the others alone.
    takes_updates = [name for name in sinks if maybe(random, 0.5)]
    for name in sinks:
        storage = ["USING", "memory"] if name in takes_updates else sink_statement(writer, name)[3:]
        statements.append(["CREATE", "SINK", name, *storage])
    targets = [*takes_updates, None]
    statements += [
        QueryWriter(random, writer.streams, random.choice(targets)).statement() for _ in range(random.randint(0, 3))
    ]
    if maybe(random, 0.3):
        random.shuffle(statements)
    return statements


def laid_out(random: Random, statements: list[Tokens]) -> str:
    """The text of a script: blanks and comments between tokens, keywords in any case."""
    plain, case = maybe(random, 0.5), random.choice([str.upper, str.upper, str.lower, str.title])
    text, last = "", "."
    for statement in statements:
        for token in [*statement, ";"]:
            if not (token == "." or last == "."):
                text += " " if plain else random.choice(_BLANKS)
            text += case(token) if token.isupper() and token.isalpha() else token
            last = token
    return text


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A valid script."""
    random = draw(st.randoms(use_true_random=False))
    return laid_out(random, written_statements(random))


@st.composite
def spoilt_scripts(draw: st.DrawFn) -> str:
    """A script that is most likely wrong: a valid one with tokens and characters changed, or a soup of tokens."""
    random = draw(st.randoms(use_true_random=False))
    if maybe(random, 0.1):
        return soup(random)
    return spoilt(random, written_statements(random))
