"""What `pip install penstock` leaves out, and how to add it.

The plain package checks and explains: it needs a parser and a command line. What runs, tests or measures needs columns,
Spark or a solver, and comes with an extra. An import that fails for want of one is told as a sentence with the command
that adds it; any other import that fails is a bug, and stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import MachineError

EXTRAS = {
    "pyspark": "spark",
    "py4j": "spark",
    "pandas": "spark",
    "google": "spark",
    "pyarrow": "testing",
    "numpy": "testing",
    "ortools": "offline",
}
"""By package that may be missing, the least extra that brings it."""


def missing_extra(error: ImportError, extra: str | None = None) -> MachineError | None:
    """The sentence for an import that failed for want of an extra; None if it did not."""
    package = (error.name or "").partition(".")[0]
    known = EXTRAS.get(package)
    if known is None:
        return None
    return MachineError(
        f"this needs {package}, which is not installed",
        detail="`pip install penstock` brings what `check`, `explain` and `implies` need, and no more",
        hint=f"pip install 'penstock[{extra or known}]'",
    )


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """While it lasts, an import that fails is told with the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (told := missing_extra(error, extra)) is None:
            raise
        raise told from None
