"""Join elimination (REWRITE 4.2): a join of sources that are included in each other has as many rows as the last.

If id is a key of every joined source, and every row of V has a partner by id in each of the others (FOREIGN KEYs),
then each row of V stands in exactly one result, and each result holds one row of V: the join counts what V counts. The
paper's `min(s1.cnt, s2.cnt)` is this with S2 as V, and the root's own count as a limit from above.

Preconditions: matches are by identity (4.1); the keys and the partners follow from the declarations by implication.
Where the root itself has all partners it is V, and the count is exact. Not decided: joins of sources that are not
included in each other, whose size does not follow from counts.
"""

from __future__ import annotations

from penstock.analysis.rewriting.identity import Identity, pairs
from penstock.analysis.rewriting.substreams import SubStreams


def not_keyed(known: SubStreams, identity: Identity, aliases: tuple[str, ...]) -> str | None:
    """A source of which the identity is no key, as a reason; None if it is a key of all."""
    for alias in aliases:
        if not known.is_key(alias, identity[alias]):
            stream = known.question.query.by_alias[alias].stream.name
            return f"PRIMARY KEY ({', '.join(identity[alias])}) ON {stream} does not follow from what is declared"
    return None


def counted_source(known: SubStreams, identity: Identity) -> str | None:
    """V: the source whose rows the join has as many of; the root, if it is one; None if there is none."""
    question = known.question
    by_choice = (question.root, *reversed(question.joined))
    return next((alias for alias in by_choice if _has_all_partners(known, identity, alias)), None)


def no_counted_source(known: SubStreams) -> str:
    """Why no source counts the join."""
    joined = ", ".join(known.question.joined)
    return f"how many rows {joined} give together does not follow: from none of them do FOREIGN KEYs lead to all others"


def _has_all_partners(known: SubStreams, identity: Identity, alias: str) -> bool:
    others = (other for other in known.question.joined if other != alias)
    return all(known.refers(alias, other, pairs(identity, alias, other)) for other in others)
