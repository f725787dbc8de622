"""What `--conf` and the options that stand for a setting say, checked before anything starts.

A setting of ours that nobody reads is an error with the nearest name; all others are Spark's, which knows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import UsageError

ARCHIVE = "penstock.archive"
"""A setting of `run`: `join` joins what budgets have archived, instead of the streams."""

RECALL = "penstock.recall"
"""A setting of `run`: the recall below which a hook is called."""

_OWN = (
    *("archive", "audit", "cells", "json", "parquet", "purge", "quarantine", "recall", "sample", "segments", "trigger"),
)
SETTINGS = tuple(f"penstock.{name}" for name in _OWN)
"""The settings of Penstock's own; all others are Spark's."""


def settings_of(given: Sequence[str]) -> dict[str, str]:
    """What `--conf k=v` gives, k by k."""
    settings: dict[str, str] = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        if not name.strip() or not equals:
            raise UsageError(f"--conf {setting} is not of the form k=v", hint="e.g. --conf penstock.cells=4")
        settings[name.strip()] = value
    for name in settings:
        if name.lower().startswith("penstock.") and name not in SETTINGS:
            from penstock.model.names import nearest  # noqa: PLC0415

            close = nearest(name[len("penstock.") :], _OWN)
            raise UsageError(
                f"there is no setting {name}",
                hint=f"did you mean penstock.{close}?" if close else f"these are known: {', '.join(SETTINGS)}",
            )
    return settings


def take_over(settings: dict[str, str], option: str, name: str, value: str | None) -> None:
    """Let an option be the setting that it stands for."""
    if value is None:
        return
    if settings.setdefault(name, value) != value:
        raise UsageError(f"{option} and --conf {name} say different things", hint=f"leave out --conf {name}")


_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def in_seconds(text: str) -> str:
    """A time such as 500ms, 5s, 2m or 1h, in seconds; a number alone is of seconds."""
    number = text.rstrip("msh")
    unit = text[len(number) :] or "s"
    try:
        seconds = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        raise UsageError(f"--trigger {text} is no time", hint="write 500ms, 5s, 2m or 1h") from None
    return f"{seconds:g}"
