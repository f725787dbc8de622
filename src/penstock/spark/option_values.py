"""The values of a source's or sink's options: `${NAME}` in one stands for a variable of the environment.

So that passwords and paths need not stand in a script. What a variable holds is given to Spark and to nobody else: a
script is printed as it is written, and `masked` takes such values out of what is said of a failure, which Spark or a
connector may have put there.
"""

from __future__ import annotations

import os
import re

from penstock.errors import UsageError
from penstock.model.stream import Storage

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORTEST = 4
"""Shorter values stand in too many other words to be taken out."""

_used: dict[str, str] = {}
"""By value, the variable that it was taken from."""


def option_values(storage: Storage) -> tuple[tuple[str, str], ...]:
    """The options, with what the environment holds in the place of its variables."""
    return tuple((name, _filled(name, value)) for name, value in storage.options)


def _filled(option: str, text: str) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in os.environ:
            raise UsageError(f"option {option}: the environment has no {name}", hint=f"export {name}=…")
        _used[os.environ[name]] = name
        return os.environ[name]

    return _VARIABLE.sub(value, text)


def masked(text: str) -> str:
    """The text without values of variables that options have named."""
    for value, name in sorted(_used.items(), key=lambda one: -len(one[0])):
        if len(value) >= _SHORTEST:
            text = text.replace(value, f"${{{name}}}")
    return text
