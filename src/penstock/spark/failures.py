"""Spark's failures in our words: what the core said, if it was the core, else the line that says most."""

from __future__ import annotations

import logging
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import py4j  # type: ignore[import-untyped]  # py4j ships no types
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.accumulators import UpdateRequestHandler
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.errors import DataError, PenstockError
from penstock.spark.hadoop_path import AnyPath
from penstock.spark.session import spark_log

SPARK_ERRORS = (PySparkException, Py4JError)
"""What a call of Spark may raise; it translates most of its own errors, and not all."""

_OURS = re.compile(
    r"(?:(?:PromiseBroken|DataError|NotPlain): error: |\[USER_RAISED_EXCEPTION\] (?=stream |table ))(?P<message>[^\n]*)"
    r"(?:\n  detail: (?P<detail>[^\n]*))?(?:\n  hint: (?P<hint>[^\n]*))?"
)
_JAVA = re.compile(r"^:? ?(?:Caused by: )?(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error): ")
_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")
"""What a trace of Python ends with."""
_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_VAGUE = ("[TASK_WRITE_FAILED]", "[FAILED_READ_FILE.NO_HINT]", "Job aborted")
"""Beginnings of lines that say what failed and not why."""
_OF_A_VALUE = "SQLSTATE: 22"
"""What Spark says of an expression that has no value of some row: no checkpoint has a part in that."""
_FRAMES = ("\tat ", "\t...", '  File "', "    ")
_LONGEST = 400
_GATEWAY = Path(py4j.__file__).parent
_FULL = "java.lang.OutOfMemoryError: Java heap space"
_LAST_SECONDS = 3.0
"""How long a JVM that no longer answers may take to be gone."""


def quiet_errors() -> None:
    """Keep PySpark and its gateway from printing each error of their own, trace and all, besides raising it."""
    if not os.environ.get("PENSTOCK_DEBUG"):
        logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
        logging.getLogger().addFilter(_is_of_others)
        # It polls a connection for counters that we do not use, and tells a JVM's death by a trace.
        UpdateRequestHandler.handle = _handled_quietly  # type: ignore[assignment, method-assign]
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a line for the log of the whole program is not the gateway's, which writes some of its own there."""
    return _GATEWAY not in Path(record.pathname).parents


_handle = UpdateRequestHandler.handle


def _handled_quietly(handler: UpdateRequestHandler) -> None:
    with suppress(EOFError, OSError):
        _handle(handler)


def failure_of(query: str, error: Exception, resuming: AnyPath | None = None) -> PenstockError:
    """The error that a failed query ends with; `resuming` is the checkpoint that it was about to go on from."""
    ours = _OURS.search(str(error))
    if ours is not None:
        return DataError(ours["message"], detail=ours["detail"], hint=ours["hint"])
    said = what_it_says(error)
    if resuming is not None and _OF_A_VALUE not in said:
        return DataError(
            f"query {query} cannot go on from the checkpoint {resuming}",
            detail=said,
            hint=f"if that does not say why, it may be damaged; Spark's own log is {spark_log()}",
        )
    return DataError(f"query {query} failed", detail=said, hint=f"Spark's own log is {spark_log()}")


class SaidBySpark(Exception):
    """What a failure of Spark said, on its way through a function that Spark calls and tells the trace of."""


def said_again(query: str, error: Exception) -> Exception:
    """What such a function raises, so that the failure of the query says what it would without it."""
    return failure_of(query, error) if _OURS.search(str(error)) else SaidBySpark(what_it_says(error))


def has_ended(spark: SparkSession, error: BaseException) -> bool:
    """Whether the JVM that this process started is no longer there, which may be why something failed."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    if process is None:
        return False
    if isinstance(error, (Py4JNetworkError, OSError)):
        # What it was connected by is gone before it is.
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_SECONDS)
    return process.poll() is not None


def is_shut_down(spark: SparkSession) -> bool:
    """Whether the context has been stopped, or nobody answers who could say; as `spark-submit` does that is ended."""
    context = spark.sparkContext._jsc
    try:
        return context is None or bool(context.sc().isStopped())
    except (*SPARK_ERRORS, OSError):
        return True


def jvm_ended(resuming: bool) -> PenstockError:
    """The error that a run ends with whose JVM has."""
    goes_on = "what was committed stays, and the same command goes on from there; " if resuming else ""
    told = "Spark's JVM has ended while the run was under way"
    if _FULL not in _logged():
        return DataError(told, hint=f"{goes_on}its log is {spark_log()}")
    fewer = (
        "give it more (SPARK_DRIVER_MEMORY=4g), or read less at once: maxFilesPerTrigger; of Kafka "
        "maxOffsetsPerTrigger, and kafka.max.poll.records where records are large"
    )
    return DataError(f"{told}: its heap was full", detail=f"its log is {spark_log()}", hint=f"{goes_on}{fewer}")


def _logged() -> str:
    """What Spark has written into its log."""
    try:
        return spark_log().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def what_it_says(error: Exception) -> str:
    """The line of a failure of Spark that says most: what a Python worker said last, or the root cause."""
    lines = [line for line in str(error).split("\n") if line.strip() and not line.startswith(_FRAMES)]
    if (told := _PYTHON.findall(str(error))) and told[-1].strip():
        return _cut(told[-1].strip().removeprefix(f"{__name__}.{SaidBySpark.__name__}: "))
    causes = [line for line in lines if line.startswith("Caused by: ") or _JAVA.match(line)]
    chosen = causes[-1] if causes else lines[0] if lines else type(error).__name__
    said = _JAVA.sub("", chosen).removeprefix("Caused by: ").strip()
    if said.startswith(_VAGUE) and (root := _root_cause(error)):
        return _cut(f"{said}: {root}")
    return _cut(said)


def _root_cause(error: Exception) -> str | None:
    """What the traces of Spark's errors, each the cause of the one before, say last."""
    found: list[str] = []
    cause: Any = error
    while cause is not None:
        found += _CAUSE.findall(str(getattr(cause, "_stackTrace", None) or ""))
        cause = getattr(cause, "_cause", None)
    return _JAVA.sub("", found[-1]).strip() if found else None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
