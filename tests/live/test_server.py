"""The page over HTTP: on the loopback address, read only, asked for by its own name alone."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from penstock.errors import UsageError
from penstock.live.history import History
from penstock.live.server import PageServer, served
from tests.live.samples import described, line


@pytest.fixture
def history() -> History:
    history = History()
    history.describe(described())
    history.add(line(0), at=0.0)
    return history


@pytest.fixture
def server(history: History) -> Iterator[PageServer]:
    server = PageServer(history, "run.sql", 0)
    yield server
    server.close()


def _asked(server: PageServer, path: str, method: str = "GET", host: str | None = None) -> tuple[int, str]:
    place = server.url.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(place, timeout=5)
    connection.request(method, path, headers={"Host": host or place})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_the_page_and_its_batches_are_served(server: PageServer, history: History) -> None:
    status, page = _asked(server, "/")
    assert (status, page[:15]) == (200, "<!DOCTYPE html>")
    newest = json.loads(_asked(server, "/batches")[1])["lines"][-1]["number"]
    history.add(line(1), at=1.0)
    known = json.loads(_asked(server, f"/batches?after={newest}")[1])
    assert [one["batch"] for one in known["lines"]] == [1]


@pytest.mark.parametrize(
    ("path", "method", "host", "status"),
    [
        ("/", "GET", "penstock.example:80", 403),
        ("/etc/passwd", "GET", None, 404),
        ("/", "POST", None, 501),
        ("/batches?after=x", "GET", None, 200),
    ],
    ids=["another name", "another path", "a write", "no number"],
)
def test_nothing_else_is_answered(server: PageServer, path: str, method: str, host: str | None, status: int) -> None:
    assert _asked(server, path, method, host)[0] == status


def test_a_run_serves_its_page_as_long_as_it_lasts() -> None:
    told: list[int] = []
    said: list[str] = []
    with served([described()], "job.sql", 0, said.append, lambda _, line: told.append(line["batch"])) as follow:
        place = said[0].removeprefix("page: ")
        follow(SimpleNamespace(times={"running": 0.1}), line(0))
        with urllib.request.urlopen(f"{place}batches", timeout=5) as answer:
            known = json.load(answer)
        assert (list(known["about"]), known["lines"][0]["batch"], told) == (["query_1"], 0, [0])
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(place, timeout=5)


def test_a_port_that_is_taken_is_told(server: PageServer, history: History) -> None:
    port = int(server.url.rstrip("/").rpartition(":")[2])
    with pytest.raises(UsageError, match="cannot be served on port"):
        PageServer(history, "run.sql", port)
