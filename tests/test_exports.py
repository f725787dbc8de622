"""The public names: all there, documented, and the same objects as in their homes."""

from __future__ import annotations

import inspect

import pytest

import penstock
from penstock import errors


@pytest.mark.parametrize("name", [n for n in penstock.__all__ if n != "__version__"])
def test_name_is_exported_and_documented(name: str) -> None:
    assert inspect.getdoc(getattr(penstock, name))
    assert name in dir(penstock)


def test_every_error_class_is_exported() -> None:
    raised = {n for n, v in vars(errors).items() if inspect.isclass(v) and issubclass(v, errors.PenstockError)}
    assert raised <= set(penstock.__all__)
    assert all(getattr(penstock, name) is getattr(errors, name) for name in raised)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = penstock.nonsense  # type: ignore[attr-defined]


def test_the_settings_that_the_command_knows_are_those_that_something_reads() -> None:
    import re
    from pathlib import Path

    from penstock.cli.settings import SETTINGS

    source = Path(__file__).parents[1] / "src" / "penstock"
    named = {
        found
        for module in source.rglob("*.py")
        for found in re.findall(r'^[A-Z]+ = "(penstock\.[a-z]+)"$', module.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == set(SETTINGS)
