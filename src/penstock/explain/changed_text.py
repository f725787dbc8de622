"""What differs between two scripts of one query, in the words of whoever wrote them.

A query and its streams are taken apart into lines as they are printed: columns, constraints, clauses. Where the streams
are read from, and what is done with malformed values, may change from run to run and is left out. Compared are lines,
so that a difference is shown by what stood there and what stands there now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest

from penstock.model.query import Query
from penstock.model.stream import KAFKA, Storage
from penstock.sql.printer import print_query, print_stream

_QUERY = "the query"


def written_lines(query: Query) -> list[list[str]]:
    """The lines of a query and its streams, each with whose it is: as JSON holds them."""
    found = []
    for stream in dict.fromkeys(source.stream for source in query.all_sources):
        # The partitions of Kafka are parts, so that it is said of a stream that it is read from there.
        storage = Storage(KAFKA) if stream.is_kafka else None
        bare = replace(stream, storage=storage, on_malformed=None)
        # The first line and the last have the name and the parentheses.
        lines = [line.strip().removesuffix(",") for line in print_stream(bare).splitlines()[1:]]
        found += [[f"stream {stream.name}", line.removeprefix(")").strip()] for line in lines if line != ")"]
    found += [[_QUERY, line.strip()] for line in print_query(replace(query, sink=None)).splitlines()]
    return found


def changes(then: Sequence[Sequence[str]], now: Sequence[Sequence[str]]) -> list[str]:
    """What differs, a phrase for each line."""
    before, after = [tuple(line) for line in then], [tuple(line) for line in now]
    found = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for old, new in zip_longest(before[i:j], after[k:m]):
            if old is not None and new is not None and old[0] == new[0]:
                found.append(f"{old[0]}: `{old[1]}` then, `{new[1]}` now")
                continue
            found += [f"{old[0]}: `{old[1]}` is gone"] if old is not None else []
            found += [f"{new[0]}: `{new[1]}` is new"] if new is not None else []
    return found
