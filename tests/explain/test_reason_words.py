"""Every reason has words, with a place for each thing that it is about; and they are put together as they say."""

from __future__ import annotations

import ast
import inspect
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.analysis.reasons import Because, BoundedBy, Reason, ReasonKind, WaitsUntil, WhyOpen
from penstock.explain.reason_words import WORDS, each_told, told
from penstock.plan.codec import decode, encode

SOURCE = Path(__file__).parents[2] / "src" / "penstock"
LISTS = {kinds.__name__: kinds for kinds in ReasonKind.__subclasses__()}


def places(kind: ReasonKind) -> int:
    """For how many things there is a place."""
    words = WORDS[kind]
    if callable(words):
        return len(inspect.signature(words).parameters)
    named = [name for _, name, _, _ in string.Formatter().parse(words) if name is not None]
    return len(set(named)) if all(named) else len(named)


def calls() -> Iterator[tuple[str, ReasonKind, int]]:
    """Every reason that is made in the sources: where, its kind, and of how many things."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=listed), attr=name), args=args) if listed in LISTS:
                    if not any(isinstance(argument, ast.Starred) for argument in args):
                        yield f"{path.relative_to(SOURCE)}:{node.lineno}", LISTS[listed][name], len(args)


def test_every_kind_has_words_and_no_words_are_of_no_kind() -> None:
    assert {kind for kinds in LISTS.values() for kind in kinds} == set(WORDS)


def test_every_reason_is_about_as_many_things_as_its_words_have_places() -> None:
    made = list(calls())
    assert len(made) > 100
    assert [(where, kind) for where, kind, count in made if count != places(kind)] == []


def test_every_kind_is_of_use() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "words.py")
    assert [k for kinds in LISTS.values() for k in kinds if f"{kinds.__name__}.{k.name}" not in text] == []


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("PRIMARY KEY (k) ON s", "PRIMARY KEY (k) ON s"),
        (BoundedBy.DISTINCT_ROWS(1), "1 row"),
        (BoundedBy.DISTINCT_ROWS(0), "0 distinct rows"),
        (BoundedBy.LAST_ROWS(1), "the last row"),
        (Because.CANNOT_ALL_HOLD(("a < b", "b < a")), "these cannot all hold: a < b; b < a"),
        (Because.CANNOT_ALL_HOLD(()), "these cannot all hold: "),
        (Because.PARTS_OF_COLUMN("a", [Because.VALUES(1), Because.RANGES(2)]), "a (1 value and 2 ranges)"),
        (WhyOpen.ENDLESS_COLUMNS(["a.x"]), "a.x has no finite domain"),
        (WhyOpen.ENDLESS_COLUMNS(["a.x", "b.y"]), "a.x, b.y have no finite domain"),
        (Because.IS_OF_TYPE("{x}", "{0}", "STRING"), "{x} of {0} is STRING"),
        (
            BoundedBy.KEPT_UNTIL(
                [WaitsUntil.KEY_ARRIVED("b"), WaitsUntil.FOR_EACH_MET(["b"], WaitsUntil.ROWS_ARRIVED(1, "c"))]
            ),
            "a row is kept until the row of b that it names has arrived, and for each row of b that it met, 1 more row "
            "of c has arrived",
        ),
    ],
)
def test_words_are_put_together(reason: Reason | str, text: str) -> None:
    assert told(reason) == text
    assert each_told([reason]) == (text,)


def test_a_reason_is_the_same_after_a_round_trip_through_json() -> None:
    reason = BoundedBy.KEPT_UNTIL([WaitsUntil.PASSED("b.t", "a.t"), WaitsUntil.WINDOW_LEFT(2, "c")])
    assert decode(Reason, encode(reason)) == reason
