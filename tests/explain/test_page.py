"""The page: one file that needs no other, in which nothing that a script says is markup."""

from __future__ import annotations

from html.parser import HTMLParser

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
