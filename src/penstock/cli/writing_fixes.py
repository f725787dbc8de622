"""`check --fix`: a fix of the report written into the script, whole or not at all, after what changes was shown."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.judging import verdicts_of
from penstock.cli.outcome import complain
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.analysis.finding import Fix, NearInTime, Verdict
    from penstock.model.schemes import NamedTime, Scheme
    from penstock.model.spans import Span


def fixed(
    file: Path, verdicts: Sequence[Verdict], number: int, within: str | None, functions: Sequence[str] | None = None
) -> list[Verdict]:
    """The verdicts once a fix is written into the script, with the length that it wants; the changes come first."""
    from penstock.compile import parse, read_text  # noqa: PLC0415
    from penstock.errors import ScriptErrors  # noqa: PLC0415
    from penstock.explain.fix_text import difference, is_number, length_meant, numbered, wants_length  # noqa: PLC0415
    from penstock.explain.ink import Ink  # noqa: PLC0415

    fixes = numbered(verdicts)
    if number > len(fixes):
        known = f"the report has {len(fixes)}, 1 to {len(fixes)}" if fixes else "the report has none"
        raise UsageError(f"there is no fix {number}: {known}", hint=f"penstock check {file} shows them")
    fix = fixes[number - 1]
    length = None if within is None else _length(within)
    if wants_length(fix) and length is None:
        example = "1000" if is_number(fix) else "'1 HOUR'"
        raise UsageError(
            f"fix {number} needs a length that only you know: {length_meant(fix)}",
            hint=f"penstock check {file} --fix {number} --within {example}",
        )
    if length is not None and wants_length(fix) and is_number(fix) != (length.unit is None):
        wanted = "a number without a unit, as the event times are" if is_number(fix) else "a number with a unit"
        raise UsageError(f"--within {within} does not fit fix {number}: it takes {wanted}")
    if length is not None and not wants_length(fix):
        raise UsageError(f"fix {number} has no length to set", hint="leave --within out")
    # The query whose fix it is: numbers run through the whole report.
    query = next(place for place in range(len(verdicts)) if number <= len(numbered(verdicts[: place + 1])))
    text = read_text(file)
    changed = _with(text, fix, query, length)
    try:
        found = verdicts_of(parse(changed, str(file), own_functions=functions))
    except ScriptErrors as error:
        raise UsageError(
            f"fix {number} cannot be written for you into this query", detail=str(error), hint="write it by hand"
        ) from None
    if fix is verdicts[query].near:
        _require_bounded(found[query], number)
    complain("\n".join(difference(text, changed, str(file), Ink.of(sys.stderr))))
    _replace(file, changed)
    complain(f"fix {number} is written into {file}")
    return with_places(file, found)


def with_places(file: Path, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, in which no condition on times has a number that has no one place in the script."""
    from penstock.compile import read_text  # noqa: PLC0415

    found: list[Verdict] = []
    if not file.is_file():
        return list(verdicts)  # A pipe, which is read once.
    for place, verdict in enumerate(verdicts):
        near = verdict.near
        if near is not None and near.has_length:
            try:
                _with(read_text(file), near, place, None)
            except UsageError:
                verdict = replace(verdict, near=None, by_hand=near)  # noqa: PLW2901
        found.append(verdict)
    return found


def _require_bounded(found: Verdict, number: int) -> None:
    if found.verdict != "bounded":
        raise UsageError(f"fix {number} as it would be written does not bound {found.query}", hint="write it by hand")


def _with(text: str, fix: Fix | NearInTime, query: int, length: Span | None) -> str:
    """The script with a fix."""
    from penstock.analysis.finding import Meeting, NearInTime  # noqa: PLC0415
    from penstock.explain.fix_text import near_text, window_text  # noqa: PLC0415
    from penstock.sql.more_conditions import MoreCondition, MoreKey, with_conditions  # noqa: PLC0415
    from penstock.sql.more_declarations import with_declarations  # noqa: PLC0415

    if isinstance(fix, NearInTime):
        apart = length or fix.apart
        more: list[MoreCondition | MoreKey] = [
            MoreCondition(
                one.block,
                (one.ours.alias, one.theirs.alias),
                near_text(one, apart),
                (str(one.ours), str(one.theirs)),
                one.meeting is Meeting.EXISTS,
            )
            for one in fix.conditions
        ]
        more += [MoreKey(one.block, one.time.alias, window_text(one, apart)) for one in fix.windows]
        text, fix = with_conditions(text, query, more) if more else text, fix.declared
    chosen = {stream: [_set(scheme, length).text for scheme in schemes] for stream, schemes in fix.by_stream.items()}
    return with_declarations(text, chosen)


def _set(scheme: Scheme | NamedTime, length: Span | None) -> Scheme | NamedTime:
    """A declaration with the length that the user knows."""
    from penstock.model.schemes import Cooccurs  # noqa: PLC0415
    from penstock.model.spans import Window  # noqa: PLC0415

    if length is None or not isinstance(scheme, Cooccurs):
        return scheme
    return replace(scheme, window=Window(replace(length, amount=-length.amount), length))


def _length(text: str) -> Span:
    """`1 HOUR`, `90 minutes`; a bare number where event times are numbers."""
    from penstock.model.spans import Unit, written_span  # noqa: PLC0415

    number, _, unit = text.strip().partition(" ")
    word = unit.strip().upper().removesuffix("S")
    if number.isdecimal() and int(number) > 0 and word in ("", *Unit.__members__):
        try:
            return written_span(Decimal(number), Unit[word] if word else None)
        except ValueError as error:
            raise UsageError(f"--within {text!r}: {error}") from None
    raise UsageError(f"--within {text!r} is no length", hint="a number and a unit: '90 MINUTES', '1 HOUR', '2 DAYS'")


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
