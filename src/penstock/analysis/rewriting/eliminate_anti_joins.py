"""Anti-join elimination (REWRITE 4.3): what has no match is the difference of two counts.

If id is a key of V and of A, and every row of A has its partner in V, then the rows of V with a match in A are as many
as A has rows, and those without are V's count less A's. With several NOT EXISTS, one of them must include the others:
then a row that matches any of them matches that one.

Preconditions: matches are by identity (4.1) and keys follow (4.2); partners follow by implication. A window without
any row of A must count as 0 and not disappear (ERRATA), so all streams are counted in one aggregation. Not decided:
NOT EXISTS over sources that do not include each other, and a V that is included in A, which leaves nothing.
"""

from __future__ import annotations

from penstock.analysis.rewriting.identity import Identity, pairs
from penstock.analysis.rewriting.substreams import SubStreams


def removed_source(known: SubStreams, identity: Identity, counted: str) -> str | None:
    """A: the source of NOT EXISTS whose rows are taken off; None if there is none that includes the others."""
    for alias in known.question.without:
        others = [other for other in known.question.without if other != alias]
        if known.refers(alias, counted, pairs(identity, alias, counted)) and all(
            known.refers(other, alias, pairs(identity, other, alias)) for other in others
        ):
            return alias
    return None


def no_removed_source(known: SubStreams, identity: Identity, counted: str) -> str:
    """Why no difference of counts says what has no match."""
    for alias in known.question.without:
        if not known.refers(alias, counted, pairs(identity, alias, counted)):
            stream = known.question.query.by_alias[alias].stream.name
            parent = known.question.query.by_alias[counted].stream.name
            return f"no FOREIGN KEY of {stream} to {parent} gives every row of {alias} that matches its {counted}"
    return f"{', '.join(known.question.without)} do not include each other"
