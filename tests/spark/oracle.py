"""The slow reference: every combination of rows, tried one by one, and the bag of what the query says of each.

It knows nothing of plans, cells, batches or promises: only the full input, a condition and an output, both written in
Python beside the SQL that they mirror. NULL is None; a condition that meets one is false, as in SQL.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

Row = Mapping[str, Any]
Bag = Counter[tuple[Any, ...]]


def joined(
    streams: Sequence[Sequence[Row]], where: Callable[..., bool | None], select: Callable[..., tuple[Any, ...]]
) -> Bag:
    """The bag of `select` over all combinations that satisfy `where`."""
    found: Bag = Counter()
    for combination in combinations(streams):
        if holds(where, combination):
            found[canonical(select(*combination))] += 1
    return found


def combinations(streams: Sequence[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """Every choice of one row from each stream."""
    if not streams:
        yield ()
        return
    for row in streams[0]:
        for rest in combinations(streams[1:]):
            yield (row, *rest)


def holds(where: Callable[..., bool | None], combination: tuple[Row, ...]) -> bool:
    """Whether the condition is true; an order asked of NULL is not."""
    try:
        return bool(where(*combination))
    except TypeError:
        if any(None in row.values() for row in combination):
            return False
        raise


def same(*values: Any) -> bool:
    """Equality as SQL has it: NULL equals nothing."""
    return None not in values and all(value == values[0] for value in values)


def bag(rows: Iterable[Sequence[Any]]) -> Bag:
    """Rows as a bag."""
    return Counter(canonical(tuple(row)) for row in rows)


def canonical(value: Any) -> Any:
    """A form that can be counted: NaN equals itself, lists and maps are tuples, instants are in UTC without a zone."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case bytearray():
            return bytes(value)
        case list() | tuple():
            return tuple(canonical(v) for v in value)
        case dict():
            return tuple((k, canonical(v)) for k, v in sorted(value.items()))
        case _:
            return value


def written(folder: Path) -> Bag:
    """What a parquet sink holds: the files that its log has committed, and no other."""
    found: Bag = Counter()
    for file in committed_files(folder):
        # Spark writes instants as INT96 unless told otherwise.
        table = pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
        found.update(canonical(tuple(row.values())) for row in table.to_pylist())
    return found


def committed_files(folder: Path) -> list[Path]:
    """The files in a file sink's log."""
    log = folder / "_spark_metadata"
    if not log.is_dir():
        return []
    names = [p.name for p in log.iterdir() if not p.name.startswith(".") and not p.name.endswith(".tmp")]
    compacted = [int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")]
    since = max(compacted, default=-1)
    found: dict[Path, None] = {}
    for name in names:
        number = int(name.removesuffix(".compact"))
        if number > since or (number == since and name.endswith(".compact")):
            for line in (log / name).read_text().splitlines()[1:]:
                found[Path(unquote(urlparse(json.loads(line)["path"]).path))] = None
    return list(found)
