"""Penstock: continuous multi-way joins on Spark Structured Streaming, with their state bounded.

The public names, no more. Each is imported when it is first asked for, so that `import penstock` costs next to nothing
and the command line answers `--version` before it has loaded a parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock import explain as explain
    from penstock import offline as offline
    from penstock import profile as profile
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
    from penstock.frames.frame_promises import ArrivesBy as ArrivesBy
    from penstock.frames.frame_promises import Check as Check
    from penstock.frames.frame_promises import Clustered as Clustered
    from penstock.frames.frame_promises import Cooccurs as Cooccurs
    from penstock.frames.frame_promises import EventTime as EventTime
    from penstock.frames.frame_promises import Follows as Follows
    from penstock.frames.frame_promises import ForeignKey as ForeignKey
    from penstock.frames.frame_promises import Ordered as Ordered
    from penstock.frames.frame_promises import PartsBy as PartsBy
    from penstock.frames.frame_promises import PrimaryKey as PrimaryKey
    from penstock.frames.frame_promises import Punctuated as Punctuated
    from penstock.frames.frame_promises import StreamKey as StreamKey
    from penstock.frames.frame_promises import Virtual as Virtual
    from penstock.jobs import adopt as adopt
    from penstock.jobs import check as check
    from penstock.jobs import compare as compare
    from penstock.jobs import metrics as metrics
    from penstock.jobs import promise as promise
    from penstock.jobs import to_pyspark as to_pyspark
    from penstock.jobs import to_sql as to_sql
    from penstock.model.script import Script as Script

__version__ = "0.2.0"

_HOME = {
    "parse": "penstock.compile",
    "check": "penstock.jobs",
    "adopt": "penstock.jobs",
    "compare": "penstock.jobs",
    "metrics": "penstock.jobs",
    "promise": "penstock.jobs",
    "to_pyspark": "penstock.jobs",
    "to_sql": "penstock.jobs",
    "Check": "penstock.frames.frame_promises",
    "Clustered": "penstock.frames.frame_promises",
    "Cooccurs": "penstock.frames.frame_promises",
    "Follows": "penstock.frames.frame_promises",
    "ForeignKey": "penstock.frames.frame_promises",
    "Ordered": "penstock.frames.frame_promises",
    "PrimaryKey": "penstock.frames.frame_promises",
    "Punctuated": "penstock.frames.frame_promises",
    "ArrivesBy": "penstock.frames.frame_promises",
    "EventTime": "penstock.frames.frame_promises",
    "PartsBy": "penstock.frames.frame_promises",
    "StreamKey": "penstock.frames.frame_promises",
    "Virtual": "penstock.frames.frame_promises",
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
    "ArrivesBy",
    "Check",
    "Clustered",
    "Cooccurs",
    "DataError",
    "DeclarationMistake",
    "EventTime",
    "Follows",
    "ForeignKey",
    "InternalError",
    "MachineError",
    "Mistake",
    "NotSupportedYet",
    "Ordered",
    "PartsBy",
    "PenstockError",
    "PrimaryKey",
    "Punctuated",
    "QueryMistake",
    "Refused",
    "Script",
    "ScriptErrors",
    "StreamKey",
    "SyntaxMistake",
    "UsageError",
    "Verdict",
    "Virtual",
    "__version__",
    "adopt",
    "check",
    "compare",
    "explain",
    "metrics",
    "offline",
    "parse",
    "profile",
    "promise",
    "stream",
    "testing",
    "to_pyspark",
    "to_sql",
]


if not TYPE_CHECKING:
    # Hidden from the type checker, to which any name would exist otherwise.

    def __getattr__(name: str) -> object:
        if name in ("explain", "profile"):
            # Rooms that can be called.
            return import_module(f"penstock.{name}")
        if name in ("offline", "testing"):
            from penstock.extras import needing  # noqa: PLC0415

            with needing(name):
                return import_module(f"penstock.{name}")
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'penstock' has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
