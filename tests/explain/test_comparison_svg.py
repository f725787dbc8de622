"""Counts over batches as a drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from penstock.explain.comparison_svg import ComparedLine, state_plot


@pytest.mark.parametrize("counts", [(), (0,), (1, 2, 3), (0, 1_000_000, 7), tuple(range(60))])
def test_a_drawing_is_well_formed_and_has_a_line_for_each_way(counts: tuple[int, ...]) -> None:
    drawn = state_plot("rows <stored>", (ComparedLine("a & b", counts), ComparedLine("other", (5,))))
    tree = ElementTree.fromstring(drawn)
    lines = [one for one in tree.iter() if one.tag.endswith("polyline")]
    assert [len(line.attrib["points"].split()) for line in lines] == [len(counts), 1]
    assert drawn == state_plot("rows <stored>", (ComparedLine("a & b", counts), ComparedLine("other", (5,))))


def test_the_axis_is_of_round_numbers_from_zero_to_above_the_most() -> None:
    drawn = state_plot("rows", (ComparedLine("a", (0, 170)),))
    assert [word for word in (">0<", ">50<", ">100<", ">150<", ">200<") if word in drawn] == [
        ">0<",
        ">50<",
        ">100<",
        ">150<",
        ">200<",
    ]
