"""Streams of files whose folder is not there, while a job is only looked at: in CI there is no data.

Spark asks for the folder when a job says what it reads, though it reads nothing before a query starts; of a pattern it
does not ask, since files that match may still come. So a folder that is not there is read as the pattern of whatever
begins with its name: the schema is the one that the job gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.spark.frames.catalyst import no_log_of_errors

_READS = ("load", "csv", "json", "orc", "parquet", "text", "xml")


def with_missing_paths(left_out: list[str]) -> Iterator[tuple[Any, str, Callable[[Any], Any]]]:
    """What is answered by Spark's reader of streams: the class, the name, and what makes the answer of the original."""
    yield from ((DataStreamReader, name, _reading(left_out)) for name in _READS)


def _reading(left_out: list[str]) -> Callable[[Any], Any]:
    def made(original: Any) -> Any:
        def called(reader: Any, *given: Any, **named: Any) -> Any:
            try:
                with no_log_of_errors():
                    return original(reader, *given, **named)
            except (PySparkException, Py4JError) as error:
                path = _told_path(error)
                if path is None:
                    raise
                wanted = f"{path.rstrip('/')}*"
                if given:
                    given = (wanted, *given[1:])
                elif "path" in named:
                    named["path"] = wanted
                else:
                    reader.option("path", wanted)
                try:
                    with no_log_of_errors():
                        frame = original(reader, *given, **named)
                except (PySparkException, Py4JError):
                    raise error from None
                left_out.append(f"reading {path}, which is not there")
                return frame

        return called

    return made


def _told_path(error: Exception) -> str | None:
    """The path that Spark says is not there."""
    if not isinstance(error, PySparkException) or error.getCondition() != "PATH_NOT_FOUND":
        return None
    return (error.getMessageParameters() or {}).get("path")
