"""The drawing: each stream once, an arrow where one is closed for another's rows; ids apart on one page."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from penstock.explain.graph_svg import join_graph
from penstock.plan.planner import as_run, closings_of
from tests.explain.explained import BAND, Explained, bare, explained, ordered


def _drawn(of: Explained, marker: str = "q0") -> tuple[ET.Element, str]:
    (query,), (verdict,), (plan,) = of.script.queries, of.verdicts, of.plans
    drawing, caption = join_graph(query, plan, closings_of(as_run(query, verdict), verdict), marker)
    return ET.fromstring(drawing), caption


@pytest.mark.parametrize(
    "of",
    [
        ordered(f"SELECT a.k FROM a, b WHERE {BAND};"),
        bare("SELECT a.k FROM a, b WHERE a.k = b.k AND a.n < b.n;"),
        ordered(f"SELECT a.k FROM a LEFT JOIN b ON {BAND};"),
        bare("SELECT a.k FROM a;"),
    ],
)
def test_each_stream_is_drawn_with_its_name(of: Explained) -> None:
    drawing, caption = _drawn(of)
    told = [text.strip() for text in drawing.itertext()]
    assert all(any(alias in text for text in told) for alias in of.plans[0].aliases)
    assert bool(caption) == (len(of.plans[0].aliases) > 1)


def test_ids_of_two_drawings_on_one_page_differ() -> None:
    of = ordered(f"SELECT a.k FROM a, b WHERE {BAND};")
    ids = [{e.attrib["id"] for e in _drawn(of, marker)[0].iter() if "id" in e.attrib} for marker in ("q0", "q1")]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_names_are_escaped() -> None:
    drawing, _ = _drawn(explained("CREATE STREAM `<x>&y` (k BIGINT); SELECT k FROM `<x>&y`;"))
    assert any("<x>&" in text for text in drawing.itertext())
