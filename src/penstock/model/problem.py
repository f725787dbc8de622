"""What is invalid cannot be built: a record that fails its own rules raises InvalidModel.

The rules stand once, with the records they are about. A problem names its subject (a column, the n-th scheme),
so that whoever built the record from text can show the place.
"""

from __future__ import annotations

from penstock.records import record


@record
class Subject:
    """Which part of a record a problem is about."""

    kind: str
    """One of: name, column, event time, arrival, scheme, where, source, output, group, hint."""
    name: str = ""
    index: int = 0
    """The position among parts of one kind; for a scheme, its place in `Stream.schemes`."""


@record
class Problem:
    """One rule that a record breaks: the part, what is wrong, what to do instead."""

    subject: Subject
    message: str
    hint: str | None = None


class InvalidModel(ValueError):
    """A record that cannot be; it carries every problem found, not only the first."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems


def require(problems: list[Problem]) -> None:
    """Raise InvalidModel if there is any problem."""
    if problems:
        raise InvalidModel(tuple(problems))
