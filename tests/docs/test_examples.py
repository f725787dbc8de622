"""Each example says on its first line what `check` finds; here it is held to that, and it can be explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from tests.docs.pages import EXAMPLES

EXIT_CODES = {"bounded": 0, "unbounded": 3, "undecided": 4}


def _penstock(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_checks_as_its_first_line_says(example: Path) -> None:
    stated = re.match(r"-- check: (\w+)\n-- \S", example.read_text(encoding="utf-8"))
    assert stated, "an example begins with `-- check: verdict`, then says what it shows"
    done = _penstock("check", str(example))
    assert (done.exit_code, done.stderr) == (EXIT_CODES[stated[1]], "")
    assert f": {stated[1].upper()} - " in done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_can_be_explained_as_a_page(example: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = _penstock("explain", str(example), "--html", str(page))
    assert (done.exit_code, done.stderr) == (0, "")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_fixed_example_is_the_unbounded_one_with_its_first_fix(tmp_path: Path) -> None:
    unbounded, fixed = (
        next(e for e in EXAMPLES if e.name == name) for name in ("unbounded.sql", "unbounded_fixed.sql")
    )
    copy = tmp_path / unbounded.name
    copy.write_bytes(unbounded.read_bytes())
    done = _penstock("check", str(copy), "--fix")
    assert done.exit_code == 0
    assert done.stderr.count("+  ORDERED BY ts WITHIN AUTO") == 2
    assert _code(copy) == _code(fixed)


def _code(example: Path) -> str:
    lines = example.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("--"))
