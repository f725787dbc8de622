"""A script's text, and the mistakes found in it so far.

All mistakes of a script are reported at once: whoever finds one adds it here and goes on where that makes sense.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable

from penstock.errors import Mistake, Place, ScriptErrors
from penstock.model.names import fold, nearest
from penstock.sql.tree import Stretch

_MOST_GUESSES = 50
"""How many mistakes are answered with a guess: each looks at all names, and thousands of both would take minutes."""


class SourceText:
    """The text of one script, its file's name, and its mistakes."""

    def __init__(self, text: str, file: str, own_functions: Collection[str] | None = None) -> None:
        self.text = text
        self.file = file
        self.own_functions = None if own_functions is None else frozenset(map(fold, own_functions))
        """The functions that the session has beside Spark's own; None if that is not known, and it may have any."""
        self.mistakes: list[Mistake] = []
        self._said: set[tuple[Place, str]] = set()
        self._line_ends = [place for place, character in enumerate(text) if character == "\n"]

    def place(self, at: Stretch) -> Place:
        """Where a stretch of the text is."""
        start = min(max(at.start, 0), len(self.text))
        return Place.of(self.text, start, at.end, self.file, 1 + bisect_left(self._line_ends, start))

    def report(
        self, kind: type[Mistake], message: str, at: Stretch, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        """Remember a mistake; the same one is said once."""
        mistake = kind(message, self.place(at), detail=detail, hint=hint)
        if (mistake.place, mistake.message) not in self._said:
            self.add(mistake)

    def guess(self, name: str, known: Iterable[str]) -> str | None:
        """The hint to a name that is unknown: the nearest known one; else all of them, if they are few."""
        if len(self.mistakes) >= _MOST_GUESSES:
            return None
        names = list(dict.fromkeys(known))
        close = nearest(name, names)
        if close is not None:
            return f"did you mean {close}?"
        return f"these are known: {', '.join(names)}" if 0 < len(names) <= 12 else None

    def add(self, mistake: Mistake) -> None:
        """Remember a mistake that is made already."""
        self._said.add((mistake.place, mistake.message))
        self.mistakes.append(mistake)

    def say_again(self, mistakes: Iterable[Mistake]) -> None:
        """Mistakes that were said before, as far as they were taken back."""
        for mistake in mistakes:
            if (mistake.place, mistake.message) not in self._said:
                self.add(mistake)

    def forget(self, known: int) -> None:
        """Take back all mistakes but the first so many: what was read is to be read in another way."""
        self._said -= {(mistake.place, mistake.message) for mistake in self.mistakes[known:]}
        del self.mistakes[known:]

    def raise_if_any(self) -> None:
        """Raise all mistakes together, if there are any."""
        if self.mistakes:
            raise ScriptErrors(self.mistakes)
