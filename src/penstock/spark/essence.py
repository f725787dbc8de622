"""What decides the state and the answer of a query: what a checkpoint is of, and what differs between two.

What only explains (bounds in words, verdicts) may change between two versions; what decides which rows a cell holds,
in which form, and what is made of them, may not. A version that writes state in another form has another number for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.model.clauses import Formula
from penstock.model.predicates import conjunction
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.model.types import Kind
from penstock.plan.plan import Plan
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.split_keys import Split
from penstock.runtime.state.store import STATE_FORMAT
from penstock.spark.malformed import is_text

_EXPLAINS = ("verdict", "strategy", "exact", "second_stage", "audit", "by_batch")
_EXPLAINS_OF_SOURCE = ("state", "rules")

_WORDS = ("because", "reasons")
"""Under which a plan says why something closes."""

FORMAT = "format of the state"
"""Version 0.1.0 did not write it, and wrote format 1."""
ZONE = "spark.sql.session.timeZone"
CELLS_KEPT = "cells"
SPLITS_KEPT = "split keys"
"""Of a query that has some; checkpoints from before have none."""

_CAME_LATER = ("clocks", "cut")
"""What a column of SELECT has had since 0.2.0: left out where it is nothing, as checkpoints from before have it."""
Essence = dict[str, Any]
"""What a checkpoint is of, as JSON has it."""


def essence_of(script: Script, query: Query, plan: Plan, grid: Grid, zone: str | None) -> Essence:
    """What decides the state and the answer of a query; `zone` is the session's, by which Spark reads times."""
    whole = {key: value for key, value in replace(plan, blocks=()).to_dict().items() if key not in _EXPLAINS}
    whole["sources"] = [
        {key: value for key, value in source.items() if key not in _EXPLAINS_OF_SOURCE} for source in whole["sources"]
    ]
    whole["selected"] = [
        {key: value for key, value in column.items() if key not in _CAME_LATER or value} for column in whole["selected"]
    ]
    whole["streams"] = {name: stream_text(script, name) for name in plan.read_streams}
    blocks = {source.stream.name: source.stream for source in query.all_sources if source.below is not None}
    for name, stream in blocks.items():
        if text := rows_text(stream):
            whole["streams"][name] = text
    whole["select"] = {o.name: str(o if isinstance(o, Formula) else o.value) for o in (*query.outputs, *query.answer)}
    if query.having is not None:
        whole["having"] = str(query.having)
    if _goes_by_zone(script, plan):
        whole[ZONE] = zone
    # Through JSON and back, so that it compares equal to what a file gives.
    read: Essence = json.loads(json.dumps({FORMAT: STATE_FORMAT, **whole, **kept_cells(grid)}))
    return read


def kept_cells(grid: Grid) -> Essence:
    """The cells of a query, as what it is of says them."""
    splits = {SPLITS_KEPT: [split.to_dict() for split in grid.splits]} if grid.splits else {}
    return {CELLS_KEPT: list(grid.shares), **splits}


def cells_kept(essence: Essence) -> Grid:
    """The cells that it says."""
    return Grid(tuple(essence[CELLS_KEPT]), tuple(map(Split.from_dict, essence.get(SPLITS_KEPT, ()))))


def as_kept(kept: Essence | None, now: Essence) -> Essence:
    """What a checkpoint says that it is of, if the query differs from it in the words of reasons alone; else the query.

    The state carries a name of what it is of, and a version may say the same reasons in other words.
    """
    return kept if kept is not None and _without_words(kept) == _without_words(now) else now


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_words(one) for key, one in value.items() if key not in _WORDS}
    return [_without_words(one) for one in value] if isinstance(value, list) else value


def _goes_by_zone(script: Script, plan: Plan) -> bool:
    """Whether Spark may make other rows of the same data in another zone.

    It evaluates derived columns, WHERE and conditions that are none of ours, and reads times out of text.
    """
    streams = [stream for name in plan.streams if (stream := script.stream(name)) is not None]
    evaluates = any(
        stream.where or any(column.derived is not None for column in stream.carried) for stream in streams
    ) or any(source.filters for source in plan.sources)
    reads = any(
        is_text(stream)
        and any(column.type is not None and column.type.kind is Kind.TIMESTAMP for column in stream.carried)
        for stream in streams
    )
    return evaluates or reads


def stream_text(script: Script, name: str) -> dict[str, str]:
    """What makes the rows of a stream: its derived columns and its WHERE."""
    stream = script.stream(name)
    assert stream is not None
    return {**rows_text(stream), "WHERE": conjunction(stream.where) if stream.where else ""}


def rows_text(stream: Stream) -> dict[str, str]:
    """What a query makes of the rows of a stream: derived columns, and joins with tables."""
    derived = {column.name: column.derived.text for column in stream.carried if column.derived is not None}
    tables = {f"{join.kind} JOIN {join.table}": join.on for join in stream.tables}
    return {**derived, **tables}


def identity_of(essence: Essence) -> str:
    """A short name for it, which every cell's state carries: of the query, and behind a slash of its cells."""
    every = (essence, *blocks_of(essence))
    essences = [_without_cells(one) for one in every]
    query = json.dumps([{**essences[0], "blocks": ()}, *essences[1:]], sort_keys=True)
    cells = name_of_cells({one["query"]: cells_kept(one) for one in every})
    return f"{hashlib.sha256(query.encode()).hexdigest()}/{cells}"


def name_of_cells(blocks: Mapping[str, Grid]) -> str:
    """A short name for the cells of all blocks, that on top first: how many it has, and which keys are split."""
    splits = {name: kept_cells(grid)[SPLITS_KEPT] for name, grid in blocks.items() if grid.splits}
    count = str(next(iter(blocks.values())).cells)
    return (
        f"{count}+{hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()[:16]}" if splits else count
    )


def blocks_of(essence: Essence) -> list[Essence]:
    """What the blocks below are of, if there are any."""
    blocks = essence.get("blocks")
    return list(blocks.values()) if isinstance(blocks, dict) else []


_OF_ROWS = ("streams", "having", ZONE, CELLS_KEPT, SPLITS_KEPT)
"""What makes the rows that a query stores, and where they lie."""


def is_same_but_for_plans(known: Essence, now: Essence) -> bool:
    """Whether two queries differ at most in what they select and in what their plans say."""
    then, after = [known, *blocks_of(known)], [now, *blocks_of(now)]
    return len(then) == len(after) and all(
        one.get("query") == other.get("query") and all(one.get(key) == other.get(key) for key in _OF_ROWS)
        for one, other in zip(then, after, strict=True)
    )


def select_of(essence: Essence, block: str) -> Any:
    """What a block selects, as it is written."""
    return next((one.get("select") for one in (essence, *blocks_of(essence)) if one.get("query") == block), None)


def _without_cells(essence: Essence) -> Essence:
    return {key: value for key, value in essence.items() if key not in (CELLS_KEPT, SPLITS_KEPT)}


def differences(known: Essence, now: Essence) -> list[str]:
    """What is not the same, a phrase for each."""
    found: list[str] = []
    for key, value in now.items():
        then = known.get(key)
        if then == value:
            continue
        if key == "sources" and isinstance(then, list):
            found += _between("stream", _by_alias(then), _by_alias(value))
        elif isinstance(value, dict) and isinstance(then, dict):
            found += _between(key, then, value)
        else:
            found.append(f"{key}: {_then_now(then, value)}")
    return found


def _by_alias(sources: list[Any]) -> dict[str, Any]:
    return {str(source.get("alias")): source for source in sources if isinstance(source, dict)}


def _between(what: str, then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    found = []
    for name, value in now.items():
        before = then.get(name)
        if name not in then:
            found.append(f"{what} {name} is new")
        elif isinstance(value, dict) and isinstance(before, dict) and value != before:
            parts = [
                f"{part}: {_then_now(before.get(part), value.get(part))}"
                for part in dict.fromkeys([*value, *before])
                if before.get(part) != value.get(part)
            ]
            found.append(f"{what} {name} differs in {', '.join(parts)}")
        elif value != before:
            found.append(f"{what} {name}: {_then_now(before, value)}")
    return found + [f"{what} {name} is gone" for name in then if name not in now]


_LONGEST = 60
"""Characters shown of a value that differs."""


def _then_now(before: Any, value: Any) -> str:
    then, now = (json.dumps(one, ensure_ascii=False) for one in (before, value))
    alike = next((n for n, (one, other) in enumerate(zip(then, now, strict=False)) if one != other), 0)
    return f"{_around(then, alike)} then, {_around(now, alike)} now"


def _around(text: str, place: int) -> str:
    """The text, or what stands around that place where it is long."""
    start = max(0, min(place - _LONGEST // 3, len(text) - _LONGEST)) if len(text) > _LONGEST else 0
    shown = text[start : start + _LONGEST]
    return ("…" if start else "") + shown + ("…" if start + _LONGEST < len(text) else "")
