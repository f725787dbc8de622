"""`explain --html` in Debian's Chromium, wide and on a phone, light and dark: words lie on nothing, nothing is cut off.

`--update-golden` writes the pictures of the docs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.explain.page import page
from tests.browsers import chromium, needs_chromium
from tests.explain.explained import Explained, explained
from tests.explain.test_graph_svg import many, overlapping

pytestmark = [pytest.mark.thorough, needs_chromium]

SHOP = """
CREATE STREAM orders (id BIGINT, shop BIGINT, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 2 MINUTES);
CREATE STREAM payments (order_id BIGINT, method STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 10 MINUTES);
CREATE STREAM refunds (order_id BIGINT, kind STRING, FOLLOWS payments (order_id) ON (order_id) WITHIN 500 ROWS,
  FOREIGN KEY (order_id) REFERENCES orders (id), CHECK (order_id IS NOT NULL), PUNCTUATED ON (order_id) WHEN kind = 'closed');
INSERT INTO refunded SELECT o.shop, p.method, r.order_id
FROM orders AS o
JOIN payments AS p ON p.order_id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR
JOIN refunds AS r ON r.order_id = o.id AND r.order_id = p.order_id;
CREATE SINK refunded USING parquet OPTIONS (path 'out/refunded');
"""  # noqa: E501

BOXES = """() => [...document.querySelectorAll('svg.lanes')].map(svg => [...svg.querySelectorAll('text')].map(
  text => { const b = text.getBoundingClientRect();
    return [b.left, b.top + 2, b.right, b.bottom - 2, text.textContent]; }))"""
LINES = """() => [...document.querySelectorAll('.wait > span, .life .title')].map(
  text => { const b = text.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom, text.textContent]; })"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize("of", [many(8), many(8, chain=True, aliases="a_stream_of_orders_{}"), explained(SHOP)])
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_nothing_lies_on_other_words(browser: Any, of: Explained, width: int, scheme: str, tmp_path: Path) -> None:
    html = tmp_path / "plan.html"
    html.write_text(page("orders.sql", *of), encoding="utf-8")
    shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    shown.goto(html.as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    for boxes in [*shown.evaluate(BOXES), shown.evaluate(LINES)]:
        assert len(boxes) > 2
        assert overlapping([tuple(box) for box in boxes]) == []
    # Letters of the drawing are as large as one can read: it scrolls where it does not fit.
    assert min(box[3] - box[1] for boxes in shown.evaluate(BOXES) for box in boxes) >= 7
    shown.close()


def test_the_picture_of_the_docs(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    html = tmp_path / "plan.html"
    html.write_text(page("refunded.sql", *explained(SHOP)), encoding="utf-8")
    shown = browser.new_page(viewport={"width": 1000, "height": 900})
    shown.goto(html.as_uri())
    picture = shown.locator("figure.lives")
    assert picture.is_visible()
    assert "Spark keeps it for ever" in picture.inner_text()
    if request.config.getoption("--update-golden"):
        docs = Path(__file__).parents[2] / "docs"
        picture.screenshot(path=str(docs / "kept.png"))
        shown.locator("figure:has(svg.lanes)").screenshot(path=str(docs / "graph.png"))
