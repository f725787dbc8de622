"""The drawing: each stream once, an arrow where one is closed for another's rows; ids apart on one page."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from penstock.explain.graph_svg import CHARACTER, join_graph
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


COLUMNS = ("region", "shop", "day", "order_id")


def many(streams: int, *, chain: bool = False, aliases: str = "stream_{}") -> Explained:
    """Streams that are joined by keys of four columns, all with the first, or each with the one before it."""
    names = [aliases.format(number) for number in range(streams)]
    columns = ", ".join(f"{column} BIGINT" for column in COLUMNS)
    declared = "".join(
        f"CREATE STREAM {name} ({columns}, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {number + 1} MINUTES);"
        for number, name in enumerate(names)
    )
    joined = names[0]
    for number, name in enumerate(names[1:]):
        other = names[number] if chain else names[0]
        keys = " AND ".join(f"{name}.{column} = {other}.{column}" for column in COLUMNS)
        between = f"{name}.ts BETWEEN {other}.ts AND {other}.ts + INTERVAL {number + 1} HOURS"
        joined += f" JOIN {name} ON {keys} AND {between}"
    return explained(f"{declared}SELECT {names[0]}.shop FROM {joined};")


def _boxes(drawing: ET.Element) -> list[tuple[float, float, float, float, str]]:
    """Where the words stand: left, top, right, bottom."""
    found = []
    for text in drawing.iter("text"):
        x, y, said = float(text.attrib["x"]), float(text.attrib["y"]), text.text or ""
        half = len(said) * CHARACTER / 2
        found.append((x - half, y - 10, x + half, y + 3, said))
    return found


def overlapping(boxes: list[tuple[float, float, float, float, str]]) -> list[tuple[str, str]]:
    """The words that lie on each other."""
    return [
        (one[4], other[4])
        for number, one in enumerate(boxes)
        for other in boxes[number + 1 :]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]


@pytest.mark.parametrize("streams", [2, 3, 5, 8])
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("aliases", ["s{}", "a_stream_with_a_long_name_{}"])
def test_no_words_lie_on_others_and_all_are_inside(streams: int, chain: bool, aliases: str) -> None:
    drawing, caption = _drawn(many(streams, chain=chain, aliases=aliases))
    boxes = _boxes(drawing)
    assert overlapping(boxes) == []
    _, _, width, height = map(float, drawing.attrib["viewBox"].split())
    assert all(left >= 0 and right <= width and top >= 0 and bottom <= height for left, top, right, bottom, _ in boxes)
    told = " ".join(box[4] for box in boxes)
    assert all(column in told for column in COLUMNS)
    assert "once" in told
    assert caption


def test_a_closing_has_what_must_happen_written_on_it() -> None:
    drawing, _ = _drawn(ordered(f"SELECT a.k FROM a, b WHERE {BAND};"))
    said = [text.text for text in drawing.iter("text") if text.attrib.get("class") == "label"]
    assert "once b.ts has passed a.ts + 9" in said
    assert "once a.ts has passed b.ts" in said


def test_streams_that_are_closed_by_the_same_distance_share_an_arrow() -> None:
    drawing, _ = _drawn(
        explained(
            "".join(f"CREATE STREAM {n} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);" for n in "abc")
            + "SELECT a.k FROM a, b, c WHERE a.k = b.k AND a.k = c.k AND a.ts = b.ts AND a.ts = c.ts;"
        )
    )
    said = [text.text for text in drawing.iter("text") if text.attrib.get("class") == "label"]
    assert "once b.ts and c.ts have passed a.ts" in said
