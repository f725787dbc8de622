"""Penstock: continuous multi-way joins on Spark Structured Streaming, with their state bounded.

The public names, no more. Each is imported when it is first asked for, so that `import penstock` costs next to nothing
and the command line answers `--version` before it has loaded a parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock import offline as offline
    from penstock import testing as testing
    from penstock.analysis.finding import Verdict as Verdict
    from penstock.compile import parse as parse
    from penstock.compile import stream as stream
    from penstock.errors import DataError as DataError
    from penstock.errors import DeclarationMistake as DeclarationMistake
    from penstock.errors import InternalError as InternalError
    from penstock.errors import MachineError as MachineError
    from penstock.errors import Mistake as Mistake
    from penstock.errors import NotSupportedYet as NotSupportedYet
    from penstock.errors import PenstockError as PenstockError
    from penstock.errors import QueryMistake as QueryMistake
    from penstock.errors import Refused as Refused
    from penstock.errors import ScriptErrors as ScriptErrors
    from penstock.errors import SyntaxMistake as SyntaxMistake
    from penstock.errors import UsageError as UsageError
    from penstock.jobs import adopt as adopt
    from penstock.jobs import check as check
    from penstock.model.script import Script as Script

__version__ = "0.1.0"

_HOME = {
    "parse": "penstock.compile",
    "check": "penstock.jobs",
    "adopt": "penstock.jobs",
    "stream": "penstock.compile",
    "Script": "penstock.model.script",
    "Verdict": "penstock.analysis.finding",
    "PenstockError": "penstock.errors",
    "ScriptErrors": "penstock.errors",
    "Mistake": "penstock.errors",
    "SyntaxMistake": "penstock.errors",
    "DeclarationMistake": "penstock.errors",
    "QueryMistake": "penstock.errors",
    "Refused": "penstock.errors",
    "UsageError": "penstock.errors",
    "DataError": "penstock.errors",
    "MachineError": "penstock.errors",
    "NotSupportedYet": "penstock.errors",
    "InternalError": "penstock.errors",
}
"""The module that each public name lives in."""

__all__ = [
    "DataError",
    "DeclarationMistake",
    "InternalError",
    "MachineError",
    "Mistake",
    "NotSupportedYet",
    "PenstockError",
    "QueryMistake",
    "Refused",
    "Script",
    "ScriptErrors",
    "SyntaxMistake",
    "UsageError",
    "Verdict",
    "__version__",
    "adopt",
    "check",
    "offline",
    "parse",
    "stream",
    "testing",
]


if not TYPE_CHECKING:
    # Hidden from the type checker, to which any name would exist otherwise.

    def __getattr__(name: str) -> object:
        if name in ("offline", "testing"):
            return import_module(f"penstock.{name}")
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'penstock' has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
