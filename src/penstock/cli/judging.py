"""From a file to its verdicts and their report, with as little as possible loaded on the way."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from penstock.cli.outcome import BAD_INPUT, complain, exit_code, say
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.model.script import Script
    from penstock.plan.counting import Observed


def load_quickly(file: Path, own_functions: Sequence[str] | None = None) -> Script:
    """The script of a file, whose session has these functions beside Spark's own; left out, it may have any."""
    with _uncollected():
        from penstock.compile import load  # noqa: PLC0415

        return load(file, own_functions=own_functions)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without a look for garbage: what is loaded and found stays, and to look among it costs half as much again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def verdicts_of(script: Script) -> list[Verdict]:
    """The verdict on each query, in the order of the script."""
    from penstock.compile import judged  # noqa: PLC0415

    # Facts of hundreds of streams are millions of values, all of them in use.
    with _uncollected():
        return [judged(query) for query in script.queries]


def print_report(verdicts: Sequence[Verdict], as_json: bool, witness: int | None) -> None:
    """Print the verdicts, for a person or for a program."""
    if as_json:
        from penstock.explain.verdict_json import check_object, printed  # noqa: PLC0415

        say([printed(check_object(verdicts, witness))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.report import check_report  # noqa: PLC0415

        say(check_report(verdicts, Ink.of(sys.stdout), witness))


def observed_by(script: Script, checkpoint: str | None) -> dict[str, Observed]:
    """By query, what a run has measured; its checkpoint lies on a local disk, for there is no Spark here."""
    from penstock.plan.counting import read_observed  # noqa: PLC0415

    if checkpoint is None:
        return {}
    scheme = urlparse(checkpoint).scheme
    if scheme not in ("", "file"):
        raise UsageError(
            f"explain starts no Spark, and so reads no checkpoint {checkpoint}",
            hint="`penstock state` reads what is kept there; explain takes a folder of a local disk",
        )
    folder = Path(f"/{checkpoint.removeprefix('file:').lstrip('/')}" if scheme else checkpoint)
    if not folder.is_dir():
        raise UsageError(f"there is no checkpoint {checkpoint}", hint="the folder that `run --checkpoint` was given")
    found = {query.name: read_observed(folder / query.name) for query in script.queries}
    return {name: seen for name, seen in found.items() if seen is not None}


def check_job(file: Path, as_json: bool, witness: int | None, arguments: Sequence[str]) -> int:
    """Judge the queries that a PySpark job would start; gives the exit code."""
    from penstock.jobs import check_file  # noqa: PLC0415

    found = check_file(file, arguments)
    if not found.verdicts and not found.unread:
        raise found.failure or UsageError(
            f"{file} starts no streaming query", hint="a job is checked by what its start() would run"
        )
    if found.verdicts:
        print_report(found.verdicts, as_json, witness)
    for thing in dict.fromkeys(found.left_out):
        complain(f"note: not run: {thing}")
    for name, error in found.unread:
        complain(f"{name}: {error}")
    if found.failure is not None:
        complain(str(found.failure))
    return BAD_INPUT if found.unread or found.failure else exit_code(found.verdicts)
