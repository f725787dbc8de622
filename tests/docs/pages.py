"""The pages of the documentation, as a reader meets them: fenced blocks in order, with what the fence says of them.

A fence is a language and words after it, which a Markdown viewer does not show:

    sql                     a script of its own
    sql streams             streams that the later `sql query` blocks of the page read
    sql query               queries over those streams
    sql wrong               each statement, after those streams, is an error
    sql|python|… file=NAME  the reader saves it under that name; later commands find it there
    console                 `$ command` lines, each followed by what it prints, errors included

Any other fence is only shown. A page's commands run in one folder, where `examples/` is the project's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [*sorted((ROOT / "examples").glob("*.sql")), *sorted((ROOT / "examples" / "kafka").glob("*.sql"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)

# The reader has the package on PATH; the tests run whichever Python runs them.
_SHELL = 'penstock() { "$PYTHON" -m penstock "$@"; }\npython() { "$PYTHON" "$@"; }\n'


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    words: tuple[str, ...]
    body: str
    line: int
    """Of the first line inside the fence, counted from 1."""
    start: int
    end: int
    """Where the body stands in the text of the page."""

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for found in _FENCE.finditer(text):
        language, *words = found["info"].split() or [""]
        start, end = found.span("body")
        yield Block(language, tuple(words), found["body"], text.count("\n", 0, start) + 1, start, end)


def commands(block: Block) -> list[str]:
    """The commands of a console block."""
    return _COMMAND.findall(block.body)


def folder_for(page: Path, home: Path) -> Path:
    """An empty folder with the examples in it."""
    folder = home / page.stem
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def run(command: str, folder: Path) -> str:
    """What a command prints, errors included, in the order in which it printed them."""
    done = subprocess.run(
        ["sh", "-c", _SHELL + command],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return done.stdout


def as_run(text: str, folder: Path) -> str:
    """The page with every console block as it comes out now."""
    pieces: list[str] = []
    done = 0
    for block in blocks(text):
        if block.file is not None:
            (folder / block.file).write_text(block.body, encoding="utf-8")
        if block.language == "console":
            pieces += [text[done : block.start], *(f"$ {c}\n{run(c, folder)}" for c in commands(block))]
            done = block.end
    return "".join(pieces) + text[done:]
