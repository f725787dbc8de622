"""What a cell commits with a batch: an entry of Spark's store that says of what, by whom and when the others are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.spark.segment_files import SegmentFile

COMMIT = "(commit)"
"""The entry that says which batch the others are of. One state of Spark's, not two: opening one takes 20 ms a task."""


@dataclass(frozen=True)
class Committed:
    """What that entry says: which batch, under which tag, of what, by which block and stage, in how many seconds."""

    number: int
    tag: str
    identity: str
    seconds: float
    block: str
    stage: str
    files: Mapping[str, SegmentFile] = field(default_factory=dict)
    """The entries that lie in files of the checkpoint (`segment_files.py`)."""
    dropped: tuple[tuple[int, str], ...] = ()
    """Files that are needed no more, with the batch from which on: they stay while Spark may go back to one before."""

    @classmethod
    def read(cls, entry: bytes) -> Committed:
        """What an entry says. One of before there were files names none."""
        number, tag, identity, seconds, block, stage, *more = json.loads(entry)
        files, dropped = more or ({}, ())
        named = {name: SegmentFile(*told) for name, told in files.items()}
        return cls(number, tag, identity, seconds, block, stage, named, tuple((n, name) for n, name in dropped))

    def written(self) -> bytes:
        """The entry that says it."""
        files = {entry: [file.name, file.size, file.checksum] for entry, file in self.files.items()}
        told = [self.number, self.tag, self.identity, self.seconds, self.block, self.stage, files, self.dropped]
        return json.dumps(told).encode()
