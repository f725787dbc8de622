"""The batches of a run as the page wants them: those of the last hour, each once, in the order in which they came.

A batch that is done again after a restart replaces the one before it. Each line gets a number by which a page asks for
what it has not seen yet; a line that is replaced gets a new one. More than `_MOST` lines are not kept: at ten batches a
second that is an hour.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import UsageError

_MOST = 36_000
HOUR = 3600.0


class History:
    """Is told of batches by one thread, and asked for them by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[tuple[str, int], dict[str, Any]] = {}
        self._about: dict[str, Any] = {}
        self._number = 0

    def describe(self, about: Mapping[str, Any]) -> None:
        """What stays the same of a query."""
        with self._lock:
            self._about[about["query"]] = dict(about)

    def add(self, line: Mapping[str, Any], at: float) -> None:
        """One line of the metrics, which came at a time in seconds."""
        with self._lock:
            self._number += 1
            key = (line["query"], line["batch"])
            self._lines.pop(key, None)
            self._lines[key] = {**line, "number": self._number, "at": at}
            while self._lines and (len(self._lines) > _MOST or next(iter(self._lines.values()))["at"] < at - HOUR):
                del self._lines[next(iter(self._lines))]

    def since(self, number: int) -> dict[str, Any]:
        """What came after a line, and what the queries are."""
        with self._lock:
            lines = [line for line in self._lines.values() if line["number"] > number]
            return {"about": dict(self._about), "lines": lines}


def history_of(lines: Iterable[str], file: str) -> History:
    """The history that a metrics file tells; UsageError where it is none."""
    found = History()
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            # A file has no times of its own: batches follow each other as they took.
            found.add(line, 0.0)
            _require(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{file}:{number}: this is no line of metrics: {error}", hint="a file that `run --metrics` wrote"
            ) from None
    return found


def _require(line: Mapping[str, Any]) -> None:
    for name in ("rows_in", "rows_out", "state_tuples", "state_bytes", "purged", "violations", "lost", "k", "seconds"):
        if name not in line:
            raise KeyError(f"{name} is not there")
