"""A job's file, run with no query started: each query that it would start is looked at instead.

The file runs as it would, on Spark in local mode: sources are read as far as their schemas, batch reads run. What is
answered otherwise, as long as the file runs:

- `start()` and `toTable()` of a stream: the query is handed to whoever asked, and what they return acts as a query that
  has ended, so that the job goes on to its next;
- the table that such a query writes (`toTable`, or the memory sink's): it is there without rows, if none was before;
- writes of a batch (`batch_writes`), and the function given to `foreachBatch`: they do not run, and the report says so;
  a table that is so made is there without rows as well;
- a folder of files that is not there (`missing_paths`): it is a stream without files, of the schema that the job gives;
- the master of a session, or of a context: `local[*]`, whatever the job says;
- `penstock.adopt`: it refuses no state for having no bound (`is_dry`), since the verdict says so.

Every DataFrame is noted with the line that makes it, so that what cannot be read is told with its place.
"""

from __future__ import annotations

import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.streaming.query import StreamingQueryManager
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import PenstockError, UsageError
from penstock.spark.frames.adopted_frame import no_plans
from penstock.spark.frames.batch_writes import stand_in, without_batch_writes
from penstock.spark.frames.call_sites import line_in, note_site, noted_sites
from penstock.spark.frames.missing_paths import with_missing_paths

_MODE, _NAME, _FUNCTION = "_penstock_mode", "_penstock_name", "_penstock_function"
_FORMAT = "_penstock_format"
_LOCAL = "local[*]"
_dry = ContextVar("_dry", default=False)


@dataclass(frozen=True)
class WouldStart:
    """A query that a job would start."""

    name: str
    frame: DataFrame
    mode: str
    line: int | None
    """Where in the job's file it is started."""


@dataclass
class DryRun:
    """What came of running a file so."""

    queries: int = 0
    left_out: list[str] = field(default_factory=list)
    """What did not run, beside the queries."""
    failure: UsageError | None = None
    """What ended the job before its time."""


@dataclass(frozen=True)
class EndedQuery:
    """What a job gets for a query: one that has ended."""

    name: str
    id: str = field(default_factory=lambda: str(uuid4()))
    runId: str = field(default_factory=lambda: str(uuid4()))  # noqa: N815 - as Spark has it
    isActive: bool = False  # noqa: N815
    lastProgress: None = None  # noqa: N815
    recentProgress: tuple[()] = ()  # noqa: N815
    status: dict[str, Any] = field(
        default_factory=lambda: {"message": "not started", "isDataAvailable": False, "isTriggerActive": False}
    )

    def awaitTermination(self, timeout: int | None = None) -> bool:  # noqa: ARG002, N802
        """It has ended."""
        return True

    def stop(self) -> None:
        """It has ended."""

    def processAllAvailable(self) -> None:  # noqa: N802
        """It has ended."""

    def explain(self, extended: bool = False) -> None:
        """There is nothing to show."""

    def exception(self) -> None:
        """It did not fail."""


def is_dry() -> bool:
    """Whether a job is only looked at."""
    return _dry.get()


def run_dry(path: Path, ask: Callable[[WouldStart], None], arguments: Sequence[str] = ()) -> DryRun:
    """Run a job's file; `ask` is called with each query that it would start, while its session is there."""
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    found = DryRun()
    before, paths = sys.argv, list(sys.path)
    looking = _dry.set(True)
    try:
        # What the job prints is not the report.
        with noted_sites(), _our_python(), _answered(found, ask, path), redirect_stdout(sys.stderr):
            sys.argv = [str(path), *arguments]
            sys.path.insert(0, str(path.parent))
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            hint = "--args '…' has the arguments of the job" if not arguments else "the job must run to its queries"
            why = f"with exit code {leaving.code}" if isinstance(leaving.code, int) else f"and said: {leaving.code}"
            found.failure = UsageError(f"{path} ended {why}", hint=hint)
    except Exception as error:
        found.failure = _failed(path, error)
    finally:
        sys.argv, sys.path[:] = before, paths
        _dry.reset(looking)
    return found


@contextmanager
def _our_python() -> Iterator[None]:
    """Batch reads run functions of the job's by the Python of this program where nobody named another."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_PYTHON", None)


def _failed(path: Path, error: Exception) -> UsageError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = lines[-1] if lines else None
    where = "" if line is None else f", line {line},"
    if isinstance(error, PenstockError):
        return UsageError(f"{path}{where} failed: {error.message}", detail=error.detail, hint=error.hint)
    said = (str(error).splitlines() or [""])[0]
    return UsageError(
        f"{path}{where} failed: {type(error).__name__}: {said}", hint="the job must run as far as its queries"
    )


def _quiet(original: Any) -> Any:
    """A session in local mode that shows nothing of itself."""

    def called(builder: Any) -> SparkSession:
        if "spark.remote" in builder._options or "SPARK_REMOTE" in os.environ:
            raise no_plans()
        settings = {
            "spark.master": _LOCAL,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        for name, value in settings.items():
            builder.config(name, value)
        session: SparkSession = original(builder)
        return session

    return called


def _local(original: Any) -> Any:
    """A context in local mode, whatever master it is given."""
    signature = inspect.signature(original)

    def called(*given: Any, **named: Any) -> None:
        asked = signature.bind(*given, **named)
        asked.arguments["master"] = _LOCAL
        original(*asked.args, **asked.kwargs)

    return called


@contextmanager
def _answered(found: DryRun, ask: Callable[[WouldStart], None], path: Path) -> Iterator[None]:
    """Spark's classes with our answers in them."""
    before: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        if hasattr(owner, name):
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, made(getattr(owner, name)))

    def begin(writer: Any, asked: Mapping[str, Any]) -> EndedQuery:
        found.queries += 1
        name = asked.get("queryName") or getattr(writer, _NAME, None) or f"query_{found.queries}"
        mode = asked.get("outputMode") or getattr(writer, _MODE, None) or "append"
        if getattr(writer, _FUNCTION, None):
            found.left_out.append(f"the function of {getattr(writer, _FUNCTION)} of {name}")
        ask(WouldStart(name, writer._df, mode, line_in(path)))
        is_memory = (asked.get("format") or getattr(writer, _FORMAT, None)) == "memory"
        table = asked.get("tableName") or (name if is_memory else None)
        if table is not None:
            stand_in(writer._df.sparkSession, table, writer._df.schema)
        return EndedQuery(name)

    def started(original: Any) -> Any:
        signature = inspect.signature(original)
        return lambda writer, *given, **named: begin(writer, signature.bind(writer, *given, **named).arguments)

    def noting(attribute: str, told: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def made(original: Any) -> Any:
            def called(writer: Any, value: Any) -> Any:
                setattr(writer, attribute, told(value))
                return original(writer, value)

            return called

        return made

    def noting_site(original: Any) -> Any:
        def called(frame: Any, jdf: Any, *given: Any, **named: Any) -> None:
            original(frame, jdf, *given, **named)
            note_site(jdf, path)

        return called

    put(ClassicFrame, "__init__", noting_site)
    put(DataStreamWriter, "start", started)
    put(DataStreamWriter, "toTable", started)
    for called, noted in (("outputMode", _MODE), ("queryName", _NAME), ("format", _FORMAT)):
        put(DataStreamWriter, called, noting(noted, str))
    put(DataStreamWriter, "foreachBatch", noting(_FUNCTION, lambda _: "foreachBatch"))
    put(DataStreamWriter, "foreach", noting(_FUNCTION, lambda _: "foreach"))
    put(StreamingQueryManager, "awaitAnyTermination", lambda _: lambda manager, timeout=None: True)  # noqa: ARG005
    put(SparkSession.Builder, "getOrCreate", _quiet)
    put(SparkContext, "__init__", _local)
    for owner, name, made in (*without_batch_writes(found.left_out), *with_missing_paths(found.left_out)):
        put(owner, name, made)
    try:
        yield
    finally:
        for owner, name, original in reversed(before):
            setattr(owner, name, original)
