"""What is asked of the files of a stream while it is read: that they have its columns, that no line is read in part.

Both are about what Spark's readers pass over without a word (`file_heads`, `json_lines`).
"""

from __future__ import annotations

from penstock.model.stream import MalformedPolicy, Stream
from penstock.spark.file_heads import FileQuestion, HasColumns, says_its_columns
from penstock.spark.json_lines import asked_of_json
from penstock.spark.malformed import answer_to
from penstock.spark.readers import declared_in_files


def asked_of_files(stream: Stream) -> FileQuestion | None:
    """What is asked of each file of a stream; None if nothing is."""
    if stream.storage is None:
        return None
    if says_its_columns(stream):
        return HasColumns(declared_in_files(stream), stream.storage)
    return asked_of_lines(stream)


def asked_of_lines(stream: Stream) -> FileQuestion | None:
    """What is asked of the lines of a file of JSON; needs no session."""
    if stream.storage is None or answer_to(stream).policy is MalformedPolicy.NULL:
        return None
    return asked_of_json(stream.storage)
