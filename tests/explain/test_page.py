"""The page: one file that needs no other, in which nothing that a script says is markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from penstock.explain.page import page
from tests.explain.explained import BAND, EVIL, Explained, bare, explained, ordered

VOID = {"meta", "br", "path", "line", "circle", "rect"}


class Nesting(HTMLParser):
    """Whether each element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        assert tag != "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def _page(of: Explained, title: str = "x.sql") -> str:
    return page(title, *of)


def test_a_page_is_well_formed_and_fetches_nothing() -> None:
    for made in (ordered(f"SELECT a.k FROM a, b WHERE {BAND};"), bare("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k;")):
        text = _page(made)
        nesting = Nesting()
        nesting.feed(text)
        assert nesting.open == []
        assert "http" not in text.replace("http://www.w3.org", "")


def test_the_verdict_stands_first_and_what_to_do_after_it() -> None:
    text = _page(bare("SELECT a.k FROM a, b WHERE a.k = b.k;"))
    assert text.index("unbounded") < text.index("To bound it") < text.index("FOLLOWS")
    assert "is learned as the query runs" in text


def test_names_are_no_markup() -> None:
    text = _page(explained(f"CREATE STREAM `{EVIL}` (k BIGINT); SELECT k FROM `{EVIL}`;"), EVIL)
    assert "<b>" not in text
    assert "&lt;b&gt;&amp;" in text


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (ordered(f"SELECT a.k FROM a, b WHERE {BAND};"), "Exact; rows are kept until no result can need them."),
        (bare("SELECT a.k FROM a, b WHERE a.k = b.k;"), "The state of a and b grows without limit."),
        (
            bare("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND a.n < b.n;"),
            "No bound is known yet for the state of a and b.",
        ),
        (bare("SELECT a.k FROM a;"), "nothing is stored, each row is answered as it comes."),
        (bare("SELECT /*+ BUDGET(9 ROWS) */ a.k FROM a, b WHERE a.k = b.k;"), "over the budget rows are evicted"),
    ],
)
def test_every_verdict_has_a_headline(of: Explained, says: str) -> None:
    headline = _page(of).split('<p class="headline">')[1].partition("</p>")[0]
    assert says in headline
    assert headline.endswith(".")


def test_each_reason_and_each_fix_stands_there_once() -> None:
    text = _page(bare("SELECT a.k FROM a, b WHERE a.k = b.k;"))
    whys = text.split("Why it is not bounded")[1].partition("</ul>")[0].split("<li>")[1:]
    assert len(set(whys)) == len(whys)
    assert text.count("a window would bound it") == 1
    assert "a [ROWS n], b [ROWS n]" in text
    fixes = text.split("To bound it")[1].partition("</ol>")[0].split("<li>")[1:]
    assert fixes
    assert len(set(fixes)) == len(fixes)
    assert text.count("<h3>To bound it</h3>") == 1


def test_how_long_a_row_is_kept_is_drawn_beside_what_spark_keeps() -> None:
    text = _page(ordered(f"SELECT a.k FROM a, b WHERE {BAND};"))
    assert text.index("How long a row is kept") < text.index("waits for b") < text.index("Spark keeps it for ever")
