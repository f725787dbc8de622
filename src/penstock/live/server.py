"""Serves the page of a run: read only, to this machine alone.

It listens on the loopback address. A request must name it by that address or as localhost, so that no page of the web
can ask under a name of its own (DNS rebinding); anything but GET of the page and of its batches is refused.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from penstock.errors import UsageError
from penstock.live.history import History
from penstock.live.run_page import live_page

ADDRESS = "127.0.0.1"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


Follower = Callable[[Any, dict[str, Any]], None]
"""Is told of the query that runs, and of the metrics of a batch."""


class PageServer:
    """A thread that answers browsers until it is closed."""

    def __init__(self, history: History, title: str, port: int) -> None:
        handler = type("PageHandler", (_Handler,), {"history": history, "title": title})
        try:
            self._server = ThreadingHTTPServer((ADDRESS, port), handler)
        except (OSError, OverflowError) as error:
            told = getattr(error, "strerror", None) or error
            raise UsageError(
                f"the page cannot be served on port {port}: {told}", hint="--page alone takes a free port"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="penstock page", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self._server.server_port}/"

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    history: History
    title: str

    def do_GET(self) -> None:
        """The page, or the batches after one."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        asked = urlparse(self.path)
        if host not in (ADDRESS, "localhost"):
            self._answer(403, "text/plain", "this page is asked for by its address alone")
        elif asked.path == "/":
            self._answer(200, "text/html", live_page(self.title, self.history.since(0), is_live=True))
        elif asked.path == "/batches":
            after = parse_qs(asked.query).get("after", ["0"])[0]
            known = self.history.since(int(after) if after.isdecimal() else 0)
            self._answer(200, "application/json", json.dumps(known, ensure_ascii=False))
        else:
            self._answer(404, "text/plain", "there is only one page")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is the run's."""


@contextmanager
def served(
    shown: Iterable[Mapping[str, Any]], title: str, port: int | None, say: Callable[[str], None], tell: Follower
) -> Iterator[Follower]:
    """Who is told of each batch: `tell`, and the page of the run, which is served meanwhile if a port is given."""
    if port is None:
        yield tell
        return
    history = History()
    for known in shown:
        history.describe(known)
    server = PageServer(history, title, port)
    say(f"page: {server.url}")

    def follow(one: Any, line: dict[str, Any]) -> None:
        tell(one, line)
        history.add(line, time.time())

    try:
        yield follow
    finally:
        server.close()
