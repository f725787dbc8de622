"""Whoever follows a run, put together: the line on the terminal or the log, Prometheus, Spark's metrics, the hook."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from penstock.errors import UsageError
from penstock.spark.events import LOGGER, Events, Hook, JsonLines, log_batch, log_event
from penstock.spark.prometheus import PrometheusServer, PrometheusText
from penstock.spark.running import Follower, Running
from penstock.spark.spark_metrics import SparkMetrics

TEXT, JSON = "text", "json"


@contextmanager
def following(
    show: Follower,
    complain: Callable[[str], None],
    *,
    log: str = TEXT,
    prometheus: str | None = None,
    hook: str | None = None,
    recall: str | None = None,
) -> Iterator[Follower]:
    """What is told of each batch, while the run lasts; raises UsageError on what it cannot do, before it starts."""
    if log not in (TEXT, JSON):
        raise UsageError(f"--log is {TEXT} or {JSON}, not {log}")
    events, program = Events(_mark(recall)), None if hook is None else Hook(hook, complain)
    text, gauges = PrometheusText(), SparkMetrics()
    with ExitStack() as ends:
        if prometheus is not None:
            server = PrometheusServer(prometheus, text)
            ends.callback(server.stop)
            complain(f"note: metrics for Prometheus at {server.url}")
        if log == JSON:
            ends.callback(_log_as_json())

        def follow(one: Running, line: dict[str, Any]) -> None:
            text.take(line)
            gauges.take(text)
            log_batch(line)
            if log == TEXT:
                show(one, line)
            for event in events.of(one.plan, line):
                log_event(event)
                if program is not None:
                    program(event)

        yield follow


def _mark(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        mark = float(text)
    except ValueError:
        mark = -1.0
    if not 0 <= mark <= 1:
        raise UsageError(f"penstock.recall is a share of the results from 0 to 1, such as 0.95, not {text}")
    return mark


def _log_as_json() -> Callable[[], None]:
    """Have what is logged written to the error stream, an object a line; gives what ends that."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    before = LOGGER.level, LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False

    def end() -> None:
        LOGGER.removeHandler(handler)
        LOGGER.level, LOGGER.propagate = before

    return end
