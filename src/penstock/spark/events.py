"""What somebody should be woken for: a promise broke, a bound was lost, recall fell below a mark, an answer is inexact.

Each is logged (`logging.getLogger("penstock")`), and handed to a program of the user's as one JSON object.

An event is told when it begins: a constraint that breaks is one event for each query, not one for each batch; recall
that falls below the mark is one until it has been above it again. A program that is not there is an error before the
run; one that fails, or takes too long, is told and never stops it.
"""

from __future__ import annotations

import json
import logging
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.errors import UsageError
from penstock.plan.plan import Plan
from penstock.spark.told import bounds_resting_on, widened_by

LOGGER = logging.getLogger("penstock")
_PATIENCE = 30.0

PROMISE, BOUND, RECALL, INEXACT = "promise broken", "bound lost", "recall low", "inexact"


@dataclass(frozen=True)
class Event:
    """Something that began with a batch."""

    event: str
    query: str
    batch: int
    about: str
    """The constraint, the stream whose bound is lost, the recall, or why the answer is inexact."""


@dataclass
class Events:
    """Finds what begins; `mark` is the recall below which somebody wants to know."""

    mark: float | None = None
    _told: set[tuple[str, str, str]] = field(default_factory=set)
    _low: set[str] = field(default_factory=set)

    def of(self, plan: Plan, line: Mapping[str, Any]) -> Iterator[Event]:
        """What began with a batch."""
        query, batch = line["query"], line["batch"]

        def new(kind: str, about: str) -> Iterator[Event]:
            if (kind, query, about) not in self._told:
                self._told.add((kind, query, about))
                yield Event(kind, query, batch, about)

        for constraint, count in line["violations"].items():
            if count:
                yield from new(PROMISE, constraint)
                for alias in bounds_resting_on(plan, constraint) if widened_by(plan, constraint) else ():
                    yield from new(BOUND, alias)
        if not line["exact"]:
            for why in line["inexact_because"] if (INEXACT, query, "") not in self._told else ():
                yield Event(INEXACT, query, batch, why)
            self._told.add((INEXACT, query, ""))
        yield from self._recall(query, batch, line["recall"])

    def _recall(self, query: str, batch: int, recall: float | None) -> Iterator[Event]:
        if self.mark is None or recall is None:
            return
        if recall >= self.mark:
            self._low.discard(query)
        elif query not in self._low:
            self._low.add(query)
            yield Event(RECALL, query, batch, f"{recall:.4f}, below {self.mark:g}")


@dataclass(frozen=True)
class Hook:
    """A program that is started for each event, with the event as JSON on its standard input."""

    command: str
    complain: Callable[[str], None]

    def __post_init__(self) -> None:
        if not (words := self._words()):
            raise UsageError("--hook names no program")
        if shutil.which(words[0]) is None:
            raise UsageError(
                f"--hook: there is no program {words[0]}",
                hint="give its path, and see that it may be run; what a shell does needs one: sh -c '…'",
            )

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise UsageError(f"--hook {self.command}: {error}") from None

    def __call__(self, event: Event) -> None:
        """Start it, and wait for its end."""
        try:
            done = subprocess.run(
                self._words(), input=json.dumps(asdict(event)), text=True, check=False, timeout=_PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            self.complain(f"note: the hook failed: {error}")
            return
        if done.returncode:
            self.complain(f"note: the hook ended with {done.returncode}")


def log_batch(line: Mapping[str, Any]) -> None:
    """A batch, for whoever listens to Python's logging; its metrics are `record.penstock`."""
    LOGGER.info("%s batch %s", line["query"], line["batch"], extra={"penstock": dict(line)})


def log_event(event: Event) -> None:
    """An event, likewise."""
    LOGGER.warning("%s: %s: %s", event.query, event.event, event.about, extra={"penstock": asdict(event)})


class JsonLines(logging.Formatter):
    """One JSON object a record: when, how grave, and what."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        said: Mapping[str, Any] = getattr(record, "penstock", {"message": record.getMessage()})
        return json.dumps({"time": record.created, "level": record.levelname, **said}, ensure_ascii=False)
