"""What is promised of a stream that is the answers of several blocks together: what all of them promise.

Each row is one of some member. So what every member says of values holds of all rows: conditions, CHECK, and windows of
COOCCURS and FOLLOWS, each in the same words, since all members have the same columns. A column has a clock if it has
one in every member: nothing lies below the least of their frontiers, and that passes every value if each of them does.

Not claimed: keys, for two members may give the same; whatever counts rows, for their order to each other is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.analysis.blocks.derived_stream import Derived
from penstock.analysis.finding import Claim, Unclaimed
from penstock.analysis.reasons import NotPromised, Promised
from penstock.model.schemes import Ordered, PrimaryKey, Scheme
from penstock.model.stream import Stream


def united_stream(declared: Stream, members: Sequence[Derived]) -> Derived:
    """The stream of a union; `declared` has its name, its columns, and what the view says of it."""
    names = tuple(member.stream.name for member in members)
    schemes = [
        scheme
        for scheme in members[0].stream.schemes
        if not isinstance(scheme, PrimaryKey)
        and all(any(scheme.text == other.text for other in member.stream.schemes) for member in members[1:])
        and scheme.text not in {stated.text for stated in declared.schemes}
    ]
    held = [p for p in members[0].stream.where if all(p in member.stream.where for member in members[1:])]
    claims = [Claim(promise, (Promised.OF_ALL_MEMBERS(names),)) for promise in (*schemes, *held)]
    clocks = {scheme.column for scheme in schemes if isinstance(scheme, Ordered)}
    some = dict.fromkeys(s.column for member in members for s in member.stream.schemes if isinstance(s, Ordered))
    unclaimed = tuple(
        Unclaimed(column, (NotPromised.NOT_OF_ALL_MEMBERS(column, names),)) for column in some if column not in clocks
    )
    stream = replace(declared, schemes=(*declared.schemes, *_schemes(schemes)), where=(*declared.where, *held))
    return Derived(stream, tuple(claims), (), unclaimed)


def _schemes(found: Sequence[Scheme]) -> tuple[Scheme, ...]:
    return tuple({scheme.text: scheme for scheme in found}.values())
