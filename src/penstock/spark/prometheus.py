"""The metrics of a run as Prometheus reads them: text, by HTTP, on this machine alone unless asked otherwise.

What stands (state, promises, k, recall) is a gauge; what a batch adds is a counter, added up since the run began. The
names are stable: boards and alerts rest on them (docs/operations.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock.errors import UsageError

LOOPBACK = "127.0.0.1"
_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS: dict[str, tuple[str, str | None, str]] = {
    "penstock_rows_in_total": ("rows_in", "stream", "Data rows read, before filters."),
    "penstock_rows_out_total": ("rows_out", None, "Rows emitted."),
    "penstock_purged_total": ("purged", "rule", "Stored rows that left, by rule."),
    "penstock_evicted_total": ("evicted", None, "Stored rows that a BUDGET evicted."),
    "penstock_violations_total": ("violations", "constraint", "Rows that broke a declaration."),
    "penstock_malformed_total": ("malformed", "stream", "Rows that do not read as declared."),
    "penstock_lost_total": ("lost", None, "Results known to be lost."),
    "penstock_seconds_total": ("seconds", None, "Seconds that batches took."),
}
"""By name: the field of the metrics, what tells its values apart, and what it is."""
GAUGES: dict[str, tuple[str, str | None, str]] = {
    "penstock_batch": ("batch", None, "The number of the last batch."),
    "penstock_batch_seconds": ("seconds", None, "Seconds that the last batch took."),
    "penstock_state_rows": ("state_rows", "stream", "Rows stored, copies counted."),
    "penstock_state_tuples": ("state_tuples", "stream", "Rows stored, copies counted once."),
    "penstock_fullest_cell": ("fullest_cell", None, "Rows stored in the fullest cell, copies counted."),
    "penstock_state_bytes": ("state_bytes", None, "Bytes of all that is stored."),
    "penstock_promise_rows": ("promise_rows", None, "Values that promises remember."),
    "penstock_pending_rows": ("pending_rows", None, "Rows read ahead of the slowest stream."),
    "penstock_k": ("k", "constraint", "The k or d in force, in rows or seconds."),
    "penstock_recall": ("recall", None, "The share of the results that is emitted, under a BUDGET."),
    "penstock_recall_error": ("recall_error", None, "How far off that share may be."),
    "penstock_exact": ("exact", None, "1 while nothing stands against the answer being exact."),
}
BATCHES = "penstock_batches_total"

Labels = tuple[tuple[str, str], ...]


class PrometheusText:
    """What was told of all batches so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: dict[str, dict[Labels, float]] = {name: {} for name in (BATCHES, *COUNTERS)}
        self._by_query: dict[str, Mapping[str, Any]] = {}

    def take(self, line: Mapping[str, Any]) -> None:
        """Take note of the metrics of a batch."""
        with self._lock:
            self._by_query[line["query"]] = dict(line)
            self._add(BATCHES, (("query", line["query"]),), 1)
            for name, (field, label, _) in COUNTERS.items():
                for labels, value in _samples(line, field, label):
                    self._add(name, labels, value)

    def _add(self, name: str, labels: Labels, value: float) -> None:
        known = self._counted[name]
        known[labels] = known.get(labels, 0) + value

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def samples(self) -> list[tuple[str, Labels, float]]:
        """All of it: names, what tells the values of one apart (the query first), and the values."""
        with self._lock:
            families = (*self._counted.items(), *((name, self._standing(name)) for name in GAUGES))
            return [(name, labels, value) for name, found in families for labels, value in found.items()]

    def _standing(self, gauge: str) -> dict[Labels, float]:
        field, label, _ = GAUGES[gauge]
        return dict(one for line in self._by_query.values() for one in _samples(line, field, label))

    def _lines(self) -> Iterator[str]:
        about = {BATCHES: "Batches done.", **{name: what for name, (_, _, what) in COUNTERS.items()}}
        for name, samples in self._counted.items():
            yield from _family(name, "counter", about[name], samples)
        for name, (_, _, what) in GAUGES.items():
            yield from _family(name, "gauge", what, self._standing(name))


def _samples(line: Mapping[str, Any], field: str, label: str | None) -> Iterator[tuple[Labels, float]]:
    value = line.get(field)
    query = ("query", str(line["query"]))
    if value is None:
        return
    if label is None:
        yield (query,), float(value)
        return
    for key, one in value.items():
        if one is not None:
            yield (query, (label, str(key))), float(one)


def _family(name: str, kind: str, what: str, samples: Mapping[Labels, float]) -> Iterator[str]:
    if not samples:
        return
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        yield f"{name}{{{shown}}} {int(value) if value == int(value) else value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class PrometheusServer:
    """Serves the text at /metrics while a run lasts."""

    def __init__(self, address: str, text: PrometheusText) -> None:
        host, port = address_of(address)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Answer a scrape."""
                body = text.text().encode()
                is_there = self.path.partition("?")[0] in ("/metrics", "/")
                self.send_response(200 if is_there else 404)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(body) if is_there else 0))
                self.end_headers()
                if is_there:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing of each scrape."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise UsageError(f"--prometheus {address}: {error.strerror or error}") from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def address_of(text: str) -> tuple[str, int]:
    """[HOST:]PORT; without a host, this machine alone."""
    host, colon, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535 or (colon and not host):
        raise UsageError(f"--prometheus {text} is no [HOST:]PORT", hint="write 9464, or 0.0.0.0:9464 for all to see")
    return host or LOOPBACK, int(port)
