"""A verdict and a plan, shown: as text, as JSON, as a page; always in the same order.

Everything here reads findings and plans and decides nothing. The same verdict gives the same text on every run and
every machine; only colours, the width of a terminal and the marks of a terminal that is not UTF-8 differ.

The room can be called: `penstock.explain(df)` is the plan of a DataFrame or a script, as `penstock explain` shows it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Explain(ModuleType):
    def __call__(self, job: Any, query: str | None = None, **hints: Any) -> Any:
        """The plan of a query (`penstock.jobs.explain`)."""
        return import_module("penstock.jobs").explain(job, query, **hints)


sys.modules[__name__].__class__ = _Explain
