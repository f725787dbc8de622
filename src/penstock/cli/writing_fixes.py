"""`check --fix`: a fix of the report written into the script, whole or not at all, after what changes was shown."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.judging import verdicts_of
from penstock.cli.outcome import complain
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict


def fixed(file: Path, verdicts: Sequence[Verdict], number: int) -> list[Verdict]:
    """The verdicts once a fix is written into the script; what changes is shown first."""
    from penstock.compile import parse, read_text  # noqa: PLC0415
    from penstock.explain.fix_text import difference, numbered  # noqa: PLC0415
    from penstock.explain.ink import Ink  # noqa: PLC0415
    from penstock.sql.more_declarations import with_declarations  # noqa: PLC0415

    fixes = numbered(verdicts)
    if number > len(fixes):
        known = f"the report has {len(fixes)}, 1 to {len(fixes)}" if fixes else "the report has none"
        raise UsageError(f"there is no fix {number}: {known}", hint=f"penstock check {file} shows them")
    text = read_text(file)
    chosen = {stream: [scheme.text for scheme in schemes] for stream, schemes in fixes[number - 1].by_stream.items()}
    changed = with_declarations(text, chosen)
    found = verdicts_of(parse(changed, str(file)))
    complain("\n".join(difference(text, changed, str(file), Ink.of(sys.stderr))))
    _replace(file, changed)
    complain(f"fix {number} is written into {file}")
    return found


def _replace(path: Path, text: str) -> None:
    """Give a file another text, or leave it as it is."""
    mark = "\ufeff" if path.read_bytes().startswith("\ufeff".encode()) else ""
    temporary = path.with_name(f".{path.name}.new")
    try:
        shutil.copymode(path, _written(temporary, mark + text))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path
