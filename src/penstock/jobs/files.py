"""A job's file: the verdict on each query that it would start (`penstock check job.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.jobs.verdicts import check

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict


@dataclass(frozen=True)
class JobReport:
    """What a job's file would start."""

    verdicts: tuple[Verdict, ...]
    unread: tuple[tuple[str, PenstockError], ...]
    """The queries that cannot be read, each with the line of the job that starts it, and why."""
    left_out: tuple[str, ...]
    """What did not run, beside the queries."""
    failure: PenstockError | None = None
    """What ended the job before its time, with whatever it would have started then."""


def check_file(path: Path, arguments: Sequence[str] = ()) -> JobReport:
    """Run a job's file, with arguments, and no query started: the verdict on each query that it would start."""
    from penstock.spark.frames.dry_job import WouldStart, run_dry  # noqa: PLC0415 - with Spark

    verdicts: list[Verdict] = []
    unread: list[tuple[str, PenstockError]] = []

    def ask(query: WouldStart) -> None:
        try:
            verdicts.append(check(query.frame, query.name, mode=query.mode))
        except PenstockError as error:
            unread.append((query.name if query.line is None else f"{path}:{query.line}: {query.name}", error))

    found = run_dry(path, ask, arguments)
    return JobReport(tuple(verdicts), tuple(unread), tuple(found.left_out), found.failure)
