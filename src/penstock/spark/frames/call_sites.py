"""Where in a job's file DataFrames were made, noted while the file is run dry.

Spark notes the line of an expression that Python made, and of SQL, but not of a method of DataFrame such as `limit`.
When a job is only looked at, each DataFrame is noted with the line that made it: a node that cannot be read is then
found on top of the plan of one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.spark.frames.catalyst import Node

_noted: list[tuple[Any, str]] = []
"""DataFrames of Spark's, and places."""


@contextmanager
def noted_sites() -> Iterator[None]:
    """Forget in the end what is noted meanwhile."""
    try:
        yield
    finally:
        _noted.clear()


def note_site(frame: Any, path: Path) -> None:
    """Note a DataFrame of Spark's with the line of a file that is making it, if one is."""
    line = line_in(path)
    if line is not None:
        _noted.append((frame, f"{path}:{line}"))


def line_in(path: Path) -> int | None:
    """The line of a file that is running, the innermost; None if none is."""
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and caller.f_code.co_filename != str(path):
        caller = caller.f_back
    return None if caller is None else caller.f_lineno


def site_of(node: Node) -> str | None:
    """The place that made a node, if it is noted."""
    return next((place for frame, place in _noted if frame.queryExecution().analyzed().equals(node)), None)
