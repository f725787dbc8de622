"""A script with more declarations: each is written behind the last element of the CREATE STREAM, or of the view.

Nothing else of the text changes: comments, blanks and the order of statements stay. Where the elements stand one on a
line, so do those that are added, as far in as the last of them; else they follow it behind a comma. A view that has no
list gets one.

Not decided: whether what is declared is true, or suffices; who asks parses the text again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.errors import UsageError
from penstock.model.names import fold
from penstock.sql.dialect import read_statements
from penstock.sql.source import SourceText
from penstock.sql.tree import BrokenColumn, CreateStream, CreateView


def with_declarations(text: str, more: Mapping[str, Sequence[str]]) -> str:
    """The script in which these streams declare more; UsageError where one is none of the script's own."""
    source = SourceText(text, "<script>")
    places = {
        fold(statement.name.text): statement
        for statement in read_statements(source)
        if isinstance(statement, CreateStream | CreateView)
    }
    added: list[tuple[int, str]] = []
    for stream, declarations in more.items():
        statement = places.get(fold(stream))
        if statement is None:
            raise UsageError(
                f"{stream} is no stream and no view of the script, so nothing can be declared of it",
                hint="make it a view: CREATE VIEW name AS SELECT …",
            )
        added.append(_place(text, statement, declarations))
    for place, words in sorted(added, reverse=True):
        text = text[:place] + words + text[place:]
    return text


def _place(text: str, statement: CreateStream | CreateView, declarations: Sequence[str]) -> tuple[int, str]:
    """Where something is written, and what."""
    elements = statement.elements
    ends = [element.name.at.end if isinstance(element, BrokenColumn) else element.at.end for element in elements]
    ends += [name.at.end for name in statement.columns] if isinstance(statement, CreateView) else []
    if not ends:
        return statement.name.at.end, f" ({', '.join(declarations)})"
    last = max(ends)
    line = text.rfind("\n", 0, last) + 1
    before = text[line:last]
    indent = before[: len(before) - len(before.lstrip())]
    stands_alone = "\n" in text[statement.name.at.end : last] and text[line:last].strip()[:1] not in ("", "(")
    new_line = "\r\n" if "\r\n" in text else "\n"
    join = f",{new_line}{indent}" if stands_alone else ", "
    return last, "".join(f"{join}{declaration}" for declaration in declarations)
