"""What Spark says when it fails, in a sentence."""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.accumulators import UpdateRequestHandler

from penstock.spark import failures
from penstock.spark.failures import failure_of, has_ended, jvm_ended, quiet_errors, what_it_says

PYTHON = """[STREAM_FAILED] Query [id = 1] ended: An exception was thrown: Traceback (most recent call last):
  File "a.py", line 3, in f
    g()
pyarrow.lib.ArrowInvalid: no such type
 SQLSTATE: 38000
=== Streaming Query ===
"""
JAVA = """An error occurred while calling o1.load.
: org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find nosuch.
\tat org.apache.spark.sql.errors.X.y(X.scala:1)
Caused by: java.lang.ClassNotFoundException: nosuch.DefaultSource
\tat java.base/java.net.URLClassLoader.findClass(URLClassLoader.java:1)
\t... 12 more
"""
OURS = """x: Traceback (most recent call last):
  File "b.py", line 1
penstock.runtime.promise.violations.PromiseBroken: error: a row of s breaks PRIMARY KEY (k) ON s
  detail: the row is: k=2
  hint: ON VIOLATION ADAPT, QUARANTINE or TRUST would go on
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PYTHON, "pyarrow.lib.ArrowInvalid: no such type"),
        (JAVA, "nosuch.DefaultSource"),
        ("[PATH_NOT_FOUND] Path does not exist: /x", "[PATH_NOT_FOUND] Path does not exist: /x"),
        ("", "ValueError"),
        ("y" * 1000, "y" * 399 + "…"),
    ],
)
def test_the_line_that_says_most(text: str, said: str) -> None:
    assert what_it_says(ValueError(text)) == said


def test_what_the_core_said_stands_as_it_was_said() -> None:
    error = failure_of("out", ValueError(OURS), Path("dir"))
    assert error.lines() == [
        "error: a row of s breaks PRIMARY KEY (k) ON s",
        "  detail: the row is: k=2",
        "  hint: ON VIOLATION ADAPT, QUARANTINE or TRUST would go on",
    ]


def test_a_failure_on_the_way_back_names_the_checkpoint() -> None:
    assert "cannot go on from the checkpoint dir" in failure_of("out", ValueError("x"), Path("dir")).message
    divided = ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")
    assert failure_of("out", divided, Path("dir")).message == "query out failed"
    assert failure_of("out", ValueError("x")).message == "query out failed"


def test_what_would_be_raised_is_not_what_was() -> None:
    """Spark prints the plan with every failure, and the text of a malformed row's error stands in it."""
    plan = "Filter CASE WHEN isnull(x) THEN true ELSE raise_error(stream s: a row does not read as declared, f"
    said = failure_of("q", Exception(f"java.io.IOException: disk is gone\n=== Plan ===\n{plan}"))
    assert said.detail == "disk is gone"
    raised = "[USER_RAISED_EXCEPTION] stream s: a row does not read\n  detail: it is x\n  hint: do\n SQLSTATE: P0001"
    found = failure_of("q", Exception(f"[STREAM_FAILED] terminated: {raised}\n=== Plan ===\n{plan}"))
    assert (found.message, found.detail, found.hint) == ("stream s: a row does not read", "it is x", "do")


class _Gateway:
    """A session's gateway whose JVM is another process."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self.sparkContext, self._gateway, self.proc = self, self, process


def test_a_jvm_that_is_gone_is_told_from_one_that_fails() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        session: Any = _Gateway(process)
        assert not has_ended(session, ValueError("something else"))
        process.kill()
        assert has_ended(session, ConnectionRefusedError())
    assert has_ended(session, Py4JError("no answer"))
    assert not has_ended(cast("Any", _Gateway(None)), OSError())
    assert "the same command goes on" in str(jvm_ended(resuming=True))


def test_a_heap_that_was_full_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    monkeypatch.setattr(failures, "spark_log", lambda: log)
    assert "its heap was full" not in str(jvm_ended(resuming=True))
    log.write_text(
        "26/11/18 14:02:53 ERROR Executor: Exception in task 0.0\njava.lang.OutOfMemoryError: Java heap space\n"
    )
    said = str(jvm_ended(resuming=True))
    assert "its heap was full" in said
    assert "the same command goes on from there; give it more (SPARK_DRIVER_MEMORY=4g)" in said


def test_what_the_gateway_writes_into_the_log_of_the_whole_program_is_not_printed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so where a connection breaks while an answer is read; what others write there stands."""
    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)
    quiet_errors()
    log = logging.getLogger()
    for path in (java_gateway.__file__, __file__):
        log.handle(log.makeRecord("root", logging.ERROR, path, 1, "said by %s", (Path(path).name,), None))
    assert caplog.messages == [f"said by {Path(__file__).name}"]


def test_the_server_of_counters_is_quiet_when_the_jvm_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)
    quiet_errors()
    server, ours = socket.socketpair()
    told: list[BaseException] = []

    class Server:
        server_shutdown, auth_token = False, None

    def handle() -> None:
        try:
            UpdateRequestHandler(server, None, cast(Any, Server()))
        except BaseException as error:
            told.append(error)

    thread = threading.Thread(target=handle)
    thread.start()
    ours.close()
    thread.join(10)
    server.close()
    assert not thread.is_alive()
    assert told == []
