"""What holds of the values of a block's answer, whether or not its state is bounded.

Clocks follow from the verdict on a block, for a frontier moves on only where rows leave. What is said of values does
not: conditions, CHECK, keys, and windows of COOCCURS and FOLLOWS hold of rows that stay for ever too. So these are
known before anything is decided, by the rules of derived_values.py, derived_keys.py and united_stream.py, from below.
"""

from __future__ import annotations

from penstock.analysis.blocks.derived_stream import Derived, derived_stream
from penstock.analysis.blocks.united_stream import united_stream
from penstock.model.block_tree import blocks_below, over
from penstock.model.clauses import Source, Union
from penstock.model.query import Query
from penstock.model.stream import Stream


def promised_values(declared: Stream, below: Query | Union) -> Stream:
    """The answer of a block as a stream of which these things are known, beside what is declared of it."""
    known: dict[str, Derived] = {}
    streams: dict[str, Stream] = {}
    for source in (*blocks_below(below), Source(declared, declared.name, below=below)):
        name = source.stream.name
        if isinstance(source.below, Union):
            known[name] = united_stream(source.stream, [known[member.stream.name] for member in source.below.members])
        elif source.below is not None:
            known[name] = derived_stream(source.stream, over(source.below, streams), None)
        streams[name] = known[name].stream
    return streams[declared.name]
