"""The metrics of a query of several blocks, by the names that a user reads (`model/shown_names.py`).

Aliases in the cases of one query have one name. Each case reads the same rows, which so are counted once; what it
stores, and lets go, it stores for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.model.shown_names import ShownNames

_ADDED = ("pending_rows", "promise_rows", "state_bytes", "evicted", "lost", "contradicted", "audited")


def with_blocks(top: str, blocks: Mapping[str, Mapping[str, Any]], shown: ShownNames) -> dict[str, Any]:
    """The metrics of all blocks, by their names: what comes out is the top one's."""
    found = dict(blocks[top])
    each = [(top, blocks[top]), *((name, fields) for name, fields in blocks.items() if name != top)]
    found["rows_in"] = {name: max(told) for name, told in _by_name("rows_in", each, shown)}
    for field in ("state_rows", "state_tuples"):
        found[field] = {name: sum(told) for name, told in _by_name(field, each, shown)}
    found["clock"] = {name: min(told, key=_moment) for name, told in _by_name("clock", each, shown)}
    found["let_go"] = {name: dict(sum(map(Counter, told), Counter())) for name, told in _by_name("let_go", each, shown)}
    found["oldest"] = {
        name: min(told, key=_age) for name, told in _by_name("oldest", list(_waiting(each, shown)), shown)
    }
    for _, fields in each[1:]:
        found["fullest_cell"] = max(found.get("fullest_cell", 0), fields.get("fullest_cell", 0))
        for field in _ADDED:
            if field in fields:
                found[field] = found.get(field, 0) + fields[field]
        purged = Counter(found.get("purged", {}))
        purged.update(fields.get("purged", {}))
        found["purged"] = dict(purged)
        # A stream that several blocks read breaks its promise in each of them, by the same rows.
        broken = Counter(found.get("violations", {})) | Counter(fields.get("violations", {}))
        found["violations"] = dict(broken)
        for field in ("k", "used", "parts"):
            found[field] = {**fields.get(field, {}), **found.get(field, {})}
    return found


def _by_name(
    field: str, blocks: list[tuple[str, Mapping[str, Any]]], shown: ShownNames
) -> Iterator[tuple[str, list[Any]]]:
    """By name, what blocks tell of it."""
    found: dict[str, list[Any]] = {}
    for block, fields in blocks:
        for alias, told in fields.get(field, {}).items():
            if (name := shown.of(block, alias)) is not None:
                found.setdefault(name, []).append(told)
    yield from found.items()


def _waiting(blocks: list[tuple[str, Mapping[str, Any]]], shown: ShownNames) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The oldest rows, with the names of what they wait for."""
    for block, fields in blocks:
        oldest = fields.get("oldest", {})
        yield (
            block,
            {
                "oldest": {
                    alias: {**told, "waits_for": [shown.of(block, other) or other for other in told["waits_for"]]}
                    for alias, told in oldest.items()
                }
            },
        )


def _moment(clock: str | int) -> str | int:
    """What clocks of one stream are compared by: as text, a moment with a fraction is after the one without."""
    return clock.removesuffix("Z") if isinstance(clock, str) else clock


def _age(oldest: Mapping[str, Any]) -> int:
    """The batch that a row came in."""
    batch: int = oldest["batch"]
    return batch
