"""Whether each line of JSON is one value: of a line Spark reads the first, and says nothing of what stands behind it.

Two files put together without a line's end between them (`{"id":1}{"id":2}`), a line written twice over, a brace too
many: a row is gone, or part of a line is, and nobody is told. So what stands behind the first value of a line is looked
for here: in files of a local disk by the task that reads their beginning (`file_heads`), in files of a table before it
is read, in the values of Kafka's records by Spark (`is_one_value`).

A file is looked at as bytes. If every line begins with `{` and has one `}`, at its end, there is nothing behind it; so
are most files, and that takes a few passes at the speed of memory. Else strings are taken out, which leaves nothing but
braces and what is between them: something stands behind a value if the line goes on where its first brace is closed.
(Of a line that begins otherwise Spark reads nothing.) Such a line is then read by Python's own reader of JSON, once
what Spark takes beside JSON by default (single quotes, infinities) is written as JSON: it counts only if the first
value reads, and something stands behind it. Lines that are no JSON are Spark's to judge (`malformed`).

Not looked at: values that only an option makes readable (comments, names without quotes), files in another encoding
than UTF-8 or compressed otherwise than by gzip, bzip2, zstd or deflate, files on other than local disks, and files of
streams that say ON MALFORMED NULL: these take what Spark reads. (Of Kafka's records NULL takes it too, and counts it.)
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError
from penstock.model.stream import Storage
from penstock.spark.option_values import option_values

_PORTION = 1 << 19
"""Bytes of a file that are looked at together: they are looked at several times, and lie in the cache of a core."""
_SHOWN = 300
"""Bytes of a line that an error shows."""
_QUOTED = "|".join(rf"{quote}[^{quote}\\\n]*+(?:\\.[^{quote}\\\n]*+)*+{quote}?" for quote in "\"'")
"""A string, up to the end of its line where it has none."""
_STRING = re.compile(_QUOTED.encode())
_BESIDE_JSON = re.compile(rf"{_QUOTED}|[+-]?INF(?:inity)?\b|[+-]Infinity\b|\+NaN\b")
"""What Spark reads that is no JSON, and the strings in which it would be."""
_SHAPES = bytes(
    {"{": ord("{"), "[": ord("{"), "}": ord("}"), "]": ord("}"), "\n": ord("\n")}.get(chr(byte), ord("x"))
    for byte in range(256)
)
"""What a byte is of the shape of a line: what opens, what closes, what ends it; all else is alike."""
_BLANKS = b" \t\r"
_DEFLATED = ".deflate"
_MARK = b"\xef\xbb\xbf"
"""What some programs write before text in UTF-8."""


@dataclass(frozen=True)
class OneValueALine:
    """What is asked of a file of JSON; `separator` ends its lines, where it is another than the usual."""

    separator: bytes | None = None
    whole: bool = False
    """Whether the whole file is one line: `multiLine`."""

    def __call__(self, path: str) -> None:
        """Raise DataError if a line is more than one value; that a file cannot be read is Spark's to tell."""
        parsed = urlparse(path)
        if parsed.scheme not in ("", "file"):
            return
        before = 0
        try:
            for lines in self._portions(unquote(parsed.path)):
                if (found := first_of_several(lines)) is not None:
                    number, line = found
                    raise _error(path, None if self.whole else before + number + 1, line)
                before += lines.count(b"\n")
        except (pa.ArrowException, OSError, zlib.error):
            return

    def _portions(self, path: str) -> Iterator[bytes]:
        """The file in pieces of whole lines, each ended by a line feed."""
        begun: list[bytes] = []
        for portion in _read(path):
            end = 0 if self.whole else self._end_of_lines(portion)
            begun.append(portion[:end] if end else portion)
            if end:
                yield self._as_lines(b"".join(begun))
                begun = [portion[end:]]
        if rest := b"".join(begun):
            yield self._as_lines(rest)

    def _end_of_lines(self, read: bytes) -> int:
        """Where the last whole line ends."""
        if self.separator is not None:
            return read.rfind(self.separator) + len(self.separator) if self.separator in read else 0
        # The line feed of a carriage return may be the next byte: such a line waits.
        return 1 + max(read.rfind(b"\n"), read.rfind(b"\r", 0, len(read) - 1))

    def _as_lines(self, read: bytes) -> bytes:
        if self.whole:
            return read.replace(b"\n", b" ")
        if self.separator is not None:
            # No JSON has a byte of 0, not even in a string.
            return read.replace(self.separator, b"\0").replace(b"\n", b" ").replace(b"\0", b"\n")
        return read.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in read else read


def _read(path: str) -> Iterator[bytes]:
    """The bytes of a file in portions, decompressed as its name says, without a mark before them."""
    inflater = zlib.decompressobj() if path.endswith(_DEFLATED) else None
    is_first = True
    with pa.input_stream(path, compression="detect") as file:
        while portion := file.read(_PORTION):
            plain = portion if inflater is None else inflater.decompress(portion)
            yield plain.removeprefix(_MARK) if is_first else plain
            is_first = False


def asked_of_json(storage: Storage) -> OneValueALine | None:
    """What to ask of the files of a storage of JSON; None where they are not looked at."""
    given = {name.lower(): value for name, value in option_values(storage)}
    encoding = given.get("encoding", given.get("charset", "UTF-8"))
    if storage.format.lower() != "json" or encoding.upper().replace("-", "") != "UTF8":
        return None
    separator = given.get("linesep")
    whole = given.get("multiline", "false").lower() == "true"
    return OneValueALine(None if separator in (None, "\n") else separator.encode(), whole)


def first_of_several(lines: bytes) -> tuple[int, bytes] | None:
    """The first line that is a value and something behind it, and its number from 0."""
    lines = lines.removesuffix(b"\n")
    if lines.startswith(b"{") and lines.endswith(b"}") and _are_flat(np.frombuffer(lines, np.uint8)):
        return None
    suspects = _going_on(_shapes_of(lines))
    if not len(suspects):
        return None
    each = lines.split(b"\n")
    return next(((number, each[number]) for number in suspects.tolist() if _is_several(each[number])), None)


def _are_flat(signs: Any) -> bool:
    """Whether all lines begin with a brace and have one that closes, at their end, as the first and the last do."""
    feeds = np.flatnonzero(signs == ord("\n"))
    if not ((signs[feeds - 1] == ord("}")) & (signs[feeds + 1] == ord("{"))).all():
        return False
    return bool(np.count_nonzero(signs == ord("}")) == len(feeds) + 1)


def _shapes_of(lines: bytes) -> Any:
    """The lines without blanks, each string as one sign."""
    if b"\\" not in lines and b"'" not in lines:
        signs = np.frombuffer(lines, np.uint8)
        is_inside = (np.cumsum(signs == ord('"'), dtype=np.int32) & 1).astype(np.bool_)
        if not is_inside[-1:].any() and not is_inside[signs == ord("\n")].any():
            shapes = np.frombuffer(lines.translate(_SHAPES), np.uint8)
            return shapes[~is_inside & (signs != ord(" ")) & (signs != ord("\t")) & (signs != ord("\r"))]
    return np.frombuffer(_STRING.sub(b"x", lines).translate(_SHAPES, _BLANKS), np.uint8)


def _going_on(shapes: Any) -> Any:
    """The numbers of the lines that begin with a brace, and go on behind the one that closes it."""
    opens, closes, feeds = (shapes == ord(sign) for sign in "{}\n")
    line = np.cumsum(feeds)
    starts = np.concatenate([[0], np.flatnonzero(feeds) + 1])
    ends = np.concatenate([starts[1:] - 1, [len(shapes)]])
    depth = np.cumsum(opens.astype(np.int32) - closes)
    before = np.concatenate([[0], depth])[starts]
    closed = np.flatnonzero(closes & (depth == before[line]))
    lines, first = np.unique(line[closed], return_index=True)
    is_value = opens[np.minimum(starts[lines], len(shapes) - 1)] & (starts[lines] < ends[lines])
    return lines[is_value & (closed[first] + 1 < ends[lines])]


def _is_several(line: bytes) -> bool:
    text = _BESIDE_JSON.sub(_as_json, line.decode("utf-8", errors="replace").strip())
    try:
        _, end = JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return False  # Spark's reader takes it as malformed, or as more than JSON.
    return bool(text[end:].strip())


def _as_json(found: re.Match[str]) -> str:
    match found[0][0]:
        case '"':
            return found[0]
        case "'":
            return '""'
        case _:
            return "0"


def is_one_value(text: Column, options: dict[str, str]) -> Column:
    """Whether a text is one value of JSON, asked by Spark; true of what has no brace: that reads or does not.

    Put between brackets it is then the only element, and put before another one it is the first of two: a text that
    itself closes the bracket has the same elements both times.
    """

    def elements(before: str, behind: str) -> Any:
        return F.size(F.from_json(F.concat(F.lit(before), text, F.lit(behind)), "array<struct<>>", options))

    # As bytes: of a text Spark looks at every character for itself, which takes as long as a sixth of its reading.
    value, closing = text.cast("binary"), F.lit(b"}")
    before_last = F.substring(value, F.lit(1), F.octet_length(value) - 1)
    is_plain = F.startswith(value, F.lit(b"{")) & F.endswith(value, closing) & ~F.contains(before_last, closing)
    both = (elements("[", "]") == 1) & (elements("[", ",{}]") == 2)
    return F.when(is_plain | ~F.contains(text, F.lit("}")), F.lit(True)).otherwise(F.coalesce(both, F.lit(False)))


def _error(path: str, number: int | None, line: bytes) -> DataError:
    shown = line[:_SHOWN].decode("utf-8", errors="replace")
    where = path if number is None else f"{path}, line {number}"
    return DataError(
        f"{where}: something stands behind the first value of JSON, which Spark would not read",
        detail=f"the {'file' if number is None else 'line'} is {shown}",
        hint="write each value on a line of its own; ON MALFORMED NULL, among the columns of a stream, takes the first",
    )
