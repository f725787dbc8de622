"""The reference from docstrings has every public name, and every public name has a docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

import penstock
import penstock.offline
import penstock.testing
from tests.docs.pages import ROOT

DIRECTIVE = re.compile(r"^::: (\S+)\n(?:    options: \{(.*)\})?", re.MULTILINE)
ROOMS = {"offline", "testing", "__version__"}
"""Names that are modules with names of their own, or a text."""


def _shown() -> dict[str, Any]:
    """What the page shows, by name."""
    found: dict[str, Any] = {}
    for path, options in DIRECTIVE.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")):
        home, _, last = path.rpartition(".")
        if last[:1].isupper() or not _is_module(path):
            found[last] = getattr(importlib.import_module(home), last)
            continue
        module = importlib.import_module(path)
        members = re.search(r"members: \[([^\]]*)\]", options)
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == path and not n.startswith("_")]
        for name in [n.strip() for n in members[1].split(",")] if members else own:
            found[name] = getattr(module, name)
    return found


def _is_module(path: str) -> bool:
    try:
        importlib.import_module(path)
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("module", [penstock, penstock.testing, penstock.offline], ids=lambda m: m.__name__)
def test_every_public_name_is_on_the_page_and_says_what_it_is(module: Any) -> None:
    shown = _shown()
    names = [name for name in module.__all__ if name not in ROOMS]
    assert [name for name in names if name not in shown] == []
    assert [name for name in names if not inspect.getdoc(shown[name])] == []
