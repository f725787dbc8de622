"""A checkpoint belongs to one query: its plan lies beside Spark's own files, and another plan is refused.

What only explains (bounds in words, verdicts) may change between two versions; what decides which rows a cell holds,
and in which form, may not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import DataError
from penstock.plan.plan import Plan
from penstock.spark.grid import Grid

_EXPLAINS = ("verdict", "strategy", "exact", "second_stage")
_EXPLAINS_OF_SOURCE = ("state", "rules")


class Checkpoint:
    """The folder of one query under `--checkpoint DIR`."""

    def __init__(self, root: Path, query: str) -> None:
        self.folder = root / query
        self.query = query

    @property
    def spark(self) -> str:
        """Where Spark keeps offsets, commits and state."""
        return str(self.folder / "spark")

    @property
    def quarantine(self) -> str:
        """Where quarantined rows are written."""
        return str(self.folder / "quarantine")

    @property
    def _plan_file(self) -> Path:
        return self.folder / "plan.json"

    def require(self, plan: Plan, grid: Grid) -> None:
        """Raise DataError, and touch nothing, if the folder is of another query, of other columns or other cells."""
        if not self._plan_file.exists():
            if Path(self.spark).exists():
                raise DataError(
                    f"{self.folder} holds a checkpoint without the plan it was made for",
                    hint="it is damaged, or not Penstock's: use another --checkpoint",
                )
            return
        try:
            known = json.loads(self._plan_file.read_text())
        except (OSError, ValueError) as error:
            raise DataError(f"{self._plan_file} cannot be read: {error}", hint="the checkpoint is damaged") from error
        differing = _differences(known, _essence(plan, grid))
        if differing:
            raise DataError(
                f"the checkpoint {self.folder} was made by another query or with other settings",
                detail="; ".join(differing),
                hint="run what it was made for, or use another --checkpoint",
            )

    def adopt(self, plan: Plan, grid: Grid) -> None:
        """Make the folder this query's."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._plan_file.exists():
            temporary = self._plan_file.with_suffix(".new")
            temporary.write_text(json.dumps(_essence(plan, grid), indent=1, ensure_ascii=False))
            temporary.replace(self._plan_file)


def _essence(plan: Plan, grid: Grid) -> dict[str, Any]:
    whole = {key: value for key, value in plan.to_dict().items() if key not in _EXPLAINS}
    whole["sources"] = [
        {key: value for key, value in source.items() if key not in _EXPLAINS_OF_SOURCE} for source in whole["sources"]
    ]
    # Through JSON and back, so that it compares equal to what a file gives.
    read: dict[str, Any] = json.loads(json.dumps({**whole, "cells": list(grid.shares)}))
    return read


def _differences(known: Any, now: dict[str, Any]) -> list[str]:
    if not isinstance(known, dict):
        return ["its plan is no plan"]
    found = []
    for key, value in now.items():
        if known.get(key) == value:
            continue
        if key == "sources":
            before = {source["alias"]: source for source in known.get("sources", [])}
            for source in now["sources"]:
                then = before.get(source["alias"])
                if then is None:
                    found.append(f"stream {source['alias']} is new")
                elif then != source:
                    parts = [part for part in source if then.get(part) != source[part]]
                    found.append(f"stream {source['alias']} differs in {', '.join(parts)}")
            found += [f"stream {a} is gone" for a in before if a not in {s["alias"] for s in now["sources"]}]
        else:
            found.append(f"{key}: {_short(known.get(key))} then, {_short(value)} now")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
