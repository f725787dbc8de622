"""`penstock profile`: which promises does the data keep, and what would they save?

    asking -> (spark/profiling) -> facts -> proposals -> replay -> report

`asking` reads off the queries which constraints could help them; Spark measures what each row needs of these; `facts`
turns the needs into declarations; `proposals` puts together those that work only together; `replay` runs the core over
the first rows with each of them; `findings` is the result, `text` and `as_json` show it.

The room can be called: `penstock.profile(df)` is the profile of what a PySpark job reads.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CalledProfile(ModuleType):
    def __call__(self, frame: Any, *, rows: int = 100_000) -> Any:
        """Which promises a job's data keeps (`penstock.jobs.profile`)."""
        return import_module("penstock.jobs").profile(frame, rows=rows)


sys.modules[__name__].__class__ = _CalledProfile
