"""JSON there and back: each kind of value that plans are made of; what is no plan is refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from penstock.analysis.reasons import Because, Told
from penstock.plan.codec import decode, encode


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    colour: Colour
    count: int | None
    told: tuple[Told, ...] = ()


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    name: str | None = None


@pytest.mark.parametrize(
    "tree",
    [
        Tree(()),
        Tree((Leaf(Colour.RED, None), Leaf(Colour.RED, 3)), "x"),
        Tree((Leaf(Colour.RED, 0, ("as written", Because.IN_NO_RESULT("a"))),)),
    ],
)
def test_what_is_written_is_read_back(tree: Tree) -> None:
    written = encode(tree)
    assert isinstance(written, dict)
    assert decode(Tree, written) == tree


def test_an_enum_is_its_word_and_a_tuple_a_list() -> None:
    assert encode(Tree((Leaf(Colour.RED, 1),)))["leaves"] == [{"colour": "red", "count": 1, "told": []}]


def test_a_word_that_is_none_of_an_enum_is_refused() -> None:
    with pytest.raises(ValueError, match="blue"):
        decode(Leaf, {"colour": "blue", "count": 1, "told": []})


def test_what_came_later_may_be_missing_and_nothing_else() -> None:
    assert decode(Leaf, {"colour": "red", "count": 1}) == Leaf(Colour.RED, 1)
    for data in ({"count": 1, "told": []}, {"colour": "red", "count": 1, "more": 2}):
        with pytest.raises(ValueError, match="exactly the keys"):
            decode(Leaf, data)
