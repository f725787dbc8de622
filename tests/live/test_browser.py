"""The page in a real browser, Debian's Chromium: it shows what the metrics say, ten times a second, over a restart.

`--update-golden` writes the picture of the docs. Skipped where there is no Chromium or Playwright: `make chromium`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.live.about import write_about
from penstock.live.history import History
from penstock.live.server import PageServer
from tests.browsers import chromium, needs_chromium
from tests.live.samples import BROKEN, described, line

pytestmark = needs_chromium


CUT_OFF = """() => [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => box.innerHTML.slice(0, 200))"""
"""What must be scrolled to be read."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


def _tiles(page: Any) -> dict[str, str]:
    return {tile.locator("span").inner_text(): tile.locator("b").inner_text() for tile in page.locator(".tile").all()}


def _kept(page: Any) -> dict[str, str]:
    rows = page.locator("tr[data-stream]").all()
    return {row.get_attribute("data-stream"): row.locator(".kept").inner_text() for row in rows}


def _parts(page: Any) -> dict[str, str]:
    keys = page.locator("[data-chart=times] [data-part]").all()
    return {key.get_attribute("data-part"): key.locator("b").inner_text() for key in keys}


def _wait(until: Any, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_page_of_a_file_shows_what_the_file_says(browser: Any, tmp_path: Path, request: Any) -> None:
    lines = [line(n, kept=100 + 10 * (n % 7), broken=int(n == 30)) for n in range(60)]
    for later in lines[31:]:
        later |= {name: lines[30][name] for name in ("exact", "inexact_because")}
    metrics, html = tmp_path / "batches.jsonl", tmp_path / "run.html"
    metrics.write_text("\n".join(map(json.dumps, lines)))
    write_about(metrics, {"query_1": described()})
    assert CliRunner().invoke(app, ["page", str(metrics), "--html", str(html)]).exit_code == 0
    page = browser.new_page(viewport={"width": 1000, "height": 1020})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(html.as_uri())
    tiles = _tiles(page)
    assert tiles["batch"] == "59"
    assert tiles["rows in"] == f"{60 * 300:,}"
    assert tiles["rows emitted"] == f"{60 * 50:,}"
    assert (tiles["results known to be lost"], tiles["answer"]) == ("1", "INEXACT")
    # What the run has shown heads the page, and what was known before it stands below.
    assert page.locator("#query > p").first.inner_text() == "query_1: INEXACT - a row broke a promise"
    assert page.locator("#query > p").nth(1).inner_text().startswith("As declared: ✓ query_1: BOUNDED - exact")
    assert tiles["rows kept"] == f"{sum(lines[-1]['state_tuples'].values()):,}"
    assert _kept(page) == {name: f"{n:,}" for name, n in lines[-1]["state_tuples"].items()}
    page.get_by_role("button", name="a", exact=True).click()
    assert "b.ts has passed a.ts + 1 MINUTE" in page.locator("tr.why").inner_text()
    why = page.locator("tr.why").inner_text()
    oldest = lines[-1]["oldest"]["a"]
    assert f"It came with batch {oldest['batch']}, with event time {oldest['time']}." in why
    assert f"it waits for b: until b.ts has passed a.ts + 1 MINUTE; b has come to {lines[-1]['clock']['b']}" in why
    # A click on the other stream of the graph says the same of it.
    page.locator("g.node[data-alias=b]").click()
    assert "stands with rows that wait" in page.locator("tr.why").nth(1).inner_text()
    promises = page.locator("table.counts:not(.let-go)", has_text=BROKEN).inner_text().split("\t")
    assert [text.strip() for text in promises[-2:]] == ["2.5", "1"]
    gone = [row.inner_text().split("\t") for row in page.locator("table.let-go tr").all()[1:]]
    told = lines[-1]["let_go"].items()
    assert gone == [[of, promise, f"{60 * n:,}"] for of, by in told for promise, n in by.items()]
    assert _parts(page) == {name: f"{seconds:.3g}" for name, seconds in lines[-1]["times"].items()}
    labels = page.locator("figure svg text.label").all_text_contents()
    assert "once b.ts has passed a.ts + 1 MINUTE" in labels
    assert page.locator("figure svg").count() == 1
    if request.config.getoption("--update-golden"):
        docs = Path(__file__).parents[2] / "docs"
        page.locator("table.streams").screenshot(path=str(docs / "page-why.png"))
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(docs / "page.png"))
    phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    phone.goto(html.as_uri())
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.get_by_role("button", name="a", exact=True).click()
    assert [text for text in phone.evaluate(CUT_OFF) if not text.startswith("<svg")] == []
    assert phone.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert wrong == []


def test_recall_is_shown_with_its_error(browser: Any, tmp_path: Path) -> None:
    lines = [line(n) | {"recall": 0.9, "recall_error": 0.05, "evicted": 7} for n in range(3)]
    metrics, html = tmp_path / "batches.jsonl", tmp_path / "run.html"
    metrics.write_text("\n".join(map(json.dumps, lines)))
    assert CliRunner().invoke(app, ["page", str(metrics), "--html", str(html)]).exit_code == 0
    page = browser.new_page()
    page.goto(html.as_uri())
    assert _tiles(page)["recall"] == "90 % ± 5"
    assert page.locator(".chart", has_text="recall, and the least").count() == 1
    gone = [row.inner_text().split("\t") for row in page.locator("table.let-go tr").all()[1:]]
    assert gone[-1] == ["all streams", "evicted over the budget", "21"]
    # Without what is known of the query there are still the numbers.
    assert set(_kept(page)) == {"a", "b"}


@pytest.mark.thorough
def test_a_live_page_keeps_up_with_ten_batches_a_second_and_survives_a_restart(browser: Any) -> None:
    history = History()
    history.describe(described())
    server = PageServer(history, "run.sql", 0)
    port = int(server.url.rstrip("/").rpartition(":")[2])
    page = browser.new_page()
    page.goto(server.url)
    assert page.get_by_text("No batch yet.").is_visible()
    for batch in range(50):
        history.add(line(batch, kept=batch), at=time.time())
        time.sleep(0.1)
    _wait(lambda: _tiles(page).get("batch") == "49", 2.5)
    assert _kept(page) == {"a": "49", "b": "98"}
    server.close()
    _wait(lambda: "does not answer" in page.locator("#status").inner_text())
    again = History()
    again.describe(described())
    again.add(line(50, kept=3), at=time.time())
    server = PageServer(again, "run.sql", port)
    _wait(lambda: _tiles(page)["batch"] == "50")
    assert _kept(page) == {"a": "3", "b": "6"}
    server.close()
