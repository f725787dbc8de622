"""Whether a promise on a DataFrame reads as a declaration, told where it is made and not where a job is checked.

Of one that names other DataFrames or columns that it declares itself only the grammar is asked here; whether its
columns and types fit is known once a job is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.errors import ScriptErrors, SyntaxMistake, UsageError
from penstock.frames.frame_promises import FramePromise
from penstock.model.names import quoted

_WHOLE = ("PRIMARY", "ORDERED", "CLUSTERED")
"""Declarations that say all there is to say of them."""


def require_written(promise: FramePromise, columns: Iterable[tuple[str, str]], parse: Callable[[str], object]) -> None:
    """Raise UsageError where a promise about a DataFrame with such columns and types is no declaration to `parse`."""
    before = f"CREATE STREAM promised ({', '.join(f'{quoted(name)} {kind}' for name, kind in columns)}, "
    try:
        parse(f"{before}{promise});")
    except ScriptErrors as found:
        for mistake in found.mistakes:
            # What stands before it, such as a type that the language does not know, is not its fault.
            is_own = mistake.place.column > len(before)
            if is_own and (promise.written.startswith(_WHOLE) or isinstance(mistake, SyntaxMistake)):
                raise UsageError(f"{promise}: {mistake.message}", hint=mistake.hint) from None
