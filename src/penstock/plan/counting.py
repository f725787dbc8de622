"""The counts that are run in place of a join, for the rooms that read plans: types, bounds, and what a run has seen.

WITH BOUNDS a run measures lags and violations on a sample. What it has seen so far lies in the checkpoint, beside the
plan, so that `explain` can show the tighter bound (REWRITE 5.2).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Protocol

from penstock.analysis.rewriting.bound import broken_rows, crossing, observed, total, violated
from penstock.analysis.rewriting.count_queries import (
    BOUNDS,
    SOURCE,
    TIME,
    WINDOW,
    CountedSource,
    CountOutput,
    Rewriting,
    literal,
)
from penstock.errors import DataError
from penstock.records import record

__all__ = [
    "BOUNDS",
    "SOURCE",
    "TIME",
    "WINDOW",
    "CountOutput",
    "CountedSource",
    "Observed",
    "Rewriting",
    "broken_rows",
    "crossing",
    "literal",
    "observed",
    "read_observed",
    "total",
    "violated",
    "write_observed",
]

_FILE = "observed.json"


class Folder(Protocol):
    """A folder or a file, of whatever file system, as `pathlib` has it."""

    def __truediv__(self, name: str, /) -> Folder: ...

    def exists(self) -> bool:
        """Whether it is there."""

    def read_text(self, encoding: str = ...) -> str:
        """What the file holds."""

    def write_text(self, text: str, /, encoding: str = ...) -> object:
        """Write the file."""

    def replace(self, target: Any, /) -> object:
        """Let it be the target from now on."""


@record
class Observed:
    """The largest errors that a run has measured, over how many windows; and in how many they were too large."""

    windows: int = 0
    error_observed: float = 0.0
    error_violations: float = 0.0
    exceeded: int = 0
    error_answer: float = 0.0
    broken: int = 0
    """In how many windows a row was seen to break a declaration."""

    def then(self, later: Observed) -> Observed:
        """Both together."""
        return Observed(
            self.windows + later.windows,
            max(self.error_observed, later.error_observed),
            max(self.error_violations, later.error_violations),
            self.exceeded + later.exceeded,
            max(self.error_answer, later.error_answer),
            self.broken + later.broken,
        )


def read_observed(folder: Folder) -> Observed | None:
    """What the run with this checkpoint of a query has seen; None if there is nothing."""
    path = folder / _FILE
    if not path.exists():
        return None
    try:
        return Observed(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read: {error}", hint="delete it; the run goes on without it") from error


def write_observed(folder: Folder, seen: Observed) -> None:
    """Keep what a run has seen, in place of what it had before."""
    temporary = folder / f"{_FILE}.new"
    temporary.write_text(json.dumps(asdict(seen)), encoding="utf-8")
    temporary.replace(folder / _FILE)
