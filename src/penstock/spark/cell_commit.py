"""What a cell commits with a batch: an entry of Spark's store that says of what, by whom and when the others are.

Small entries lie in the commit itself. Each entry of Spark's store is a message to the JVM and an answer, and another
to remove it, and a file of the warm cache: of a cell with little state that was most of what a batch cost. The commit
is read and written in any case, so what it carries comes for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from penstock.spark.segment_files import LEAST_BYTES, SegmentFile

COMMIT = "(commit)"
"""The entry that says which batch the others are of. One state of Spark's, not two: opening one takes 20 ms a task."""

_BODY = b"\n"
"""What parts the numbers and names, which are JSON without such a byte, from the small entries behind them."""
_OLDEST = 6
"""What 0.1 wrote into a commit."""


@dataclass(frozen=True)
class Committed:
    """What that entry says: which batch, under which tag, of what, by which block and stage, in how many seconds."""

    number: int
    tag: str
    identity: str
    seconds: float
    block: str
    stage: str
    in_store: str
    """The tag of the commit that last changed an entry of Spark's store beside this one; empty if there is none."""
    files: Mapping[str, SegmentFile] = field(default_factory=dict)
    """The entries that lie in files of the checkpoint (`segment_files.py`)."""
    dropped: tuple[tuple[int, str], ...] = ()
    """Files that are needed no more, with the batch from which on: they stay while Spark may go back to one before."""
    small: Mapping[str, Any] = field(default_factory=dict)
    """The entries that lie in the commit."""
    run: str = ""
    """Whose commit it is: what another run left is looked at more closely."""
    least: int | None = LEAST_BYTES
    """The bytes from which on a segment becomes a file in the next batch (`entry_places.py`); None: none does."""

    @classmethod
    def read(cls, entry: bytes) -> Committed:
        """What an entry says. One of before there were files or small entries has none of them."""
        head, _, body = bytes(entry).partition(_BODY)
        told: list[Any] = json.loads(head)
        number, tag, identity, seconds, block, stage = told[:_OLDEST]
        absent = [{}, [], tag, "", [], None if len(told) == _OLDEST else LEAST_BYTES]
        files, dropped, in_store, run, sizes, least = told[_OLDEST:] + absent[len(told) - _OLDEST :]
        named = {name: SegmentFile(*told) for name, told in files.items()}
        gone = tuple((since, name) for since, name in dropped)
        ends = accumulate(size for _, size in sizes)
        small = {name: body[end - size : end] for (name, size), end in zip(sizes, ends, strict=True)}
        return cls(number, tag, identity, seconds, block, stage, in_store, named, gone, small, run, least)

    @staticmethod
    def of_last_batch(commits: Mapping[int, Committed]) -> frozenset[int]:
        """Of cells of one stage, by key, those that are: cells of an earlier dealing have committed no batch since."""
        newest = max((one.number for one in commits.values()), default=-1)
        return frozenset(key for key, one in commits.items() if one.number == newest)

    def written(self) -> bytes:
        """The entry that says it."""
        files = {entry: [file.name, file.size, file.checksum, file.expanded] for entry, file in self.files.items()}
        sizes = [[name, len(data)] for name, data in self.small.items()]
        told = [self.number, self.tag, self.identity, self.seconds, self.block, self.stage]
        head = json.dumps([*told, files, self.dropped, self.in_store, self.run, sizes, self.least]).encode()
        return b"".join((head, _BODY, *self.small.values()))
