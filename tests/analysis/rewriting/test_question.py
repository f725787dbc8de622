"""Which queries are counts over joins: the form, sorted, or why not."""

from __future__ import annotations

import pytest

from penstock.analysis.rewriting.question import count_question
from penstock.compile import parse
from tests.analysis.rewriting.section_2 import question
from tests.analysis.test_implication_paper import SECTION_2


def test_the_parts_of_the_running_example() -> None:
    found = question()
    assert found.root == "s"
    assert found.joined == ("s", "sa")
    assert found.without == ("f",)
    assert found.aliases == ("s", "sa", "f")
    assert len(found.ties) == 3
    assert len(found.ties_without["f"]) == 3
    assert found.time("sa") is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count(*)", "max(s.ip)"),
        ("FROM syn AS s, ", "FROM syn [ROWS 5] AS s, "),
        ("syn AS s, synack AS sa\nWHERE", "syn AS s LEFT JOIN synack AS sa ON s.ip = sa.ip AND sa.ts = s.ts WHERE"),
    ],
)
def test_what_is_no_such_count_is_left_as_it_is(old: str, new: str) -> None:
    assert old in SECTION_2, old
    (query,) = parse(SECTION_2.replace(old, new)).queries
    found = count_question(query)
    assert not hasattr(found, "root"), found
