"""Spark's failures in our words: what the core said, if it was the core, else the line that says most."""

from __future__ import annotations

import re
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

from penstock.errors import DataError, PenstockError
from penstock.spark.session import spark_log

SPARK_ERRORS = (PySparkException, Py4JError)
"""What a call of Spark may raise; it translates most of its own errors, and not all."""

_OURS = re.compile(
    r"(?:PromiseBroken|DataError): error: (?P<message>[^\n]*)"
    r"(?:\n  detail: (?P<detail>[^\n]*))?(?:\n  hint: (?P<hint>[^\n]*))?"
)
_JAVA = re.compile(r"^:? ?(?:Caused by: )?(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error): ")
_FRAMES = ("\tat ", "\t...", '  File "', "    ")
_CHECKPOINT = re.compile(
    r"checkpoint|offset log|commit log|incomplete log|malformed log|state ?store|changelog|checksum|rocksdb"
    r"|CANNOT_LOAD_STATE|EOFException|StreamMetadata|OffsetSeq|/(?:offsets|commits|state|metadata)\b",
    re.IGNORECASE,
)
_LONGEST = 400


def failure_of(
    query: str, error: Exception, checkpoint: Path | None = None, *, resuming: bool = False
) -> PenstockError:
    """The error that a failed query ends with; `resuming` says that it was about to go on from its checkpoint."""
    text = str(error)
    ours = _OURS.search(text)
    if ours is not None:
        return DataError(ours["message"], detail=ours["detail"], hint=ours["hint"])
    said = what_it_says(error)
    if checkpoint is not None and (resuming or _CHECKPOINT.search(text)):
        return DataError(
            f"query {query} cannot go on from the checkpoint {checkpoint}",
            detail=said,
            hint=f"if that does not say why, it may be damaged; Spark's own log is {spark_log()}",
        )
    return DataError(f"query {query} failed", detail=said, hint=f"Spark's own log is {spark_log()}")


def what_it_says(error: Exception) -> str:
    """The line of a failure of Spark that says most: the root cause's, without its class."""
    lines = [line for line in str(error).split("\n") if line.strip() and not line.startswith(_FRAMES)]
    causes = [line for line in lines if line.startswith("Caused by: ") or _JAVA.match(line)]
    chosen = causes[-1] if causes else lines[0] if lines else type(error).__name__
    said = _JAVA.sub("", chosen).removeprefix("Caused by: ").strip()
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
