"""The page of the theory: every module and test that it names is there, and no theorem of the papers is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
TESTS = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
MODULES = re.findall(r"`((?:analysis|plan|runtime|offline|model|spark)/[\w/]+\.py)`", PAGE)

THEOREMS = {
    "MEMORY": ("5.3", "5.6", "5.10", "8.3", "8.4", "8.5", "8.6"),
    "SAFETY": ("1", "2", "3", "4", "5", "Corollary 1", "Corollary 2", "Lemma 1", "Lemma 2"),
    "KMON": ("3.1", "3.2", "3.3", "3.4", "3.5", "5.1"),
    "REWRITE": ("3", "9", "Corollary 10", "Lemma 11"),
    "SHED": ("1", "2", "3", "4", "Lemma 1", "Corollary 1"),
}
"""All that the papers number."""


def test_what_is_named_exists() -> None:
    assert len(TESTS) > 40
    assert len(MODULES) > 25
    assert [name for name in MODULES if not (ROOT / "src" / "penstock" / name).is_file()] == []
    missing = [
        (file, name)
        for file, name in TESTS
        if not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


@pytest.mark.parametrize("paper", THEOREMS)
def test_every_theorem_has_its_line_with_a_module_and_a_test(paper: str) -> None:
    part = PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    lines = [line.split(" | ") for line in part.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert all(len(line) == 4 and ".py`" in line[2] and "tests/" in line[3] for line in lines)
    told = [name.strip() for line in lines for name in re.sub(r"\(.*?\)", "", line[0].strip("| ")).split(",")]
    assert [name for name in THEOREMS[paper] if name not in told] == []
    assert "**Errata.**" in part
