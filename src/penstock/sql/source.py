"""A script's text, and the mistakes found in it so far.

All mistakes of a script are reported at once: whoever finds one adds it here and goes on where that makes sense.
"""

from __future__ import annotations

from penstock.errors import Mistake, Place, ScriptErrors
from penstock.sql.tree import Stretch


class SourceText:
    """The text of one script, its file's name, and its mistakes."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.mistakes: list[Mistake] = []

    def place(self, at: Stretch) -> Place:
        """Where a stretch of the text is."""
        return Place.of(self.text, at.start, at.end, self.file)

    def report(
        self, kind: type[Mistake], message: str, at: Stretch, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        """Remember a mistake; the same one is said once."""
        mistake = kind(message, self.place(at), detail=detail, hint=hint)
        if all((m.place, m.message) != (mistake.place, mistake.message) for m in self.mistakes):
            self.mistakes.append(mistake)

    def raise_if_any(self) -> None:
        """Raise all mistakes together, if there are any."""
        if self.mistakes:
            raise ScriptErrors(self.mistakes)
