"""Every place that refuses a construct is reached by a golden error: what is said there has been read by somebody."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import sql
from penstock.errors import PenstockError, Refused
from penstock.sql import parse_script

_SOURCES = Path(sql.__file__).parent
_CASES = Path(__file__).parent / "errors"

Site = tuple[str, int, int]
"""A file, and the lines of a call in it."""


def _sites() -> Iterator[Site]:
    """The calls that refuse something: of `refuse`, or of whatever is handed the kind of mistake."""
    for path in sorted(_SOURCES.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _refuses(node):
                yield path.name, node.lineno, node.end_lineno or node.lineno


def _refuses(call: ast.Call) -> bool:
    is_named = isinstance(call.func, ast.Attribute) and call.func.attr == "refuse"
    handed = [*call.args, *(keyword.value for keyword in call.keywords)]
    return is_named or any(isinstance(one, ast.Name) and one.id == Refused.__name__ for one in handed)


@pytest.fixture(scope="module")
def reached() -> set[tuple[str, int]]:
    """The lines of the room that a golden error was refused from."""
    found: set[tuple[str, int]] = set()
    made = Refused.__init__

    def noted(self: Refused, *told: object, **more: object) -> None:
        frame = sys._getframe(1)
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.parent == _SOURCES:
                found.add((path.name, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        made(self, *told, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Refused, "__init__", noted)
        for case in sorted(_CASES.glob("*.sql")):
            try:
                parse_script(case.read_text(encoding="utf-8"))
            except PenstockError:
                continue
    return found


def test_there_are_some() -> None:
    assert len(list(_sites())) > 30


@pytest.mark.parametrize("site", list(_sites()), ids=lambda site: f"{site[0]}:{site[1]}")
def test_a_refusal_has_a_golden_error(site: Site, reached: set[tuple[str, int]]) -> None:
    name, first, last = site
    assert any(file == name and first <= line <= last for file, line in reached)
