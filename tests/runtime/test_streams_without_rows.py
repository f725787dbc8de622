"""Streams that have brought no row so far: Spark hands nothing of them over, so the core knows not even their types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk
from tests.runtime.driving import plan_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n STRING, EVENT TIME ts, ORDERED BY ts WITHIN 1);" for name in "aef"
)
BAND = "{1}.k = {0}.k AND {1}.ts >= {0}.ts AND {1}.ts - {0}.ts <= 4"


def rows_given(script: str, *steps: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a cell gives in all over batches that hold only the streams named."""
    plan = plan_of(script)
    cell = Cell(plan)
    found: list[tuple[Any, ...]] = []
    for number, tables in enumerate(steps):
        chunks = tuple(Chunk.of(plan, stream, 0, table) for stream, table in tables.items())
        result = cell.step(Batch(number, chunks))
        found += zip(*(c.to_pylist() for c in result.rows.columns), strict=True)
    return sorted(found, key=str)


def table(k: int, ts: int, n: str = "x") -> Any:
    return pa.table({"k": [k], "ts": [ts], "n": [n]})


def test_a_connection_that_was_never_answered_while_another_closes() -> None:
    script = Path("examples/answered_but_not_closed.sql").read_text()
    packet = {"ip": ["::1"]}
    first, second, later = (
        pa.table({**packet, "ts": pa.array([seconds * 1_000_000], pa.timestamp("us", "UTC"))}) for seconds in (0, 2, 99)
    )
    assert rows_given(script, {"syn": first, "fin": second}, {"syn": later, "fin": later}) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a.n FROM a LEFT JOIN e ON {ae} LEFT JOIN f ON {ef}", [("1",)]),
        ("SELECT a.n FROM a LEFT JOIN e ON {ae} FULL JOIN f ON {ef}", [("1",), (None,)]),
        ("SELECT a.n FROM a LEFT JOIN e ON {ae} WHERE NOT EXISTS (SELECT 1 FROM f WHERE {af})", []),
        ("SELECT a.n FROM a, e WHERE {ae} AND NOT EXISTS (SELECT 1 FROM f WHERE {ef})", []),
        ("SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM e WHERE {ae}) AND EXISTS (SELECT 1 FROM f WHERE {af})", []),
    ],
)
def test_three_streams_of_which_one_is_silent(query: str, expected: list[tuple[Any, ...]]) -> None:
    script = STREAMS + query.format(**{pair: BAND.format(*pair) for pair in ("ae", "ef", "af")}) + ";"
    steps = [{"a": table(1, 10, "1")}, {"f": table(1, 12)}, {"a": table(9, 99, "9"), "f": table(8, 99)}]
    # Only what e says of itself makes it certain that none of it comes; so e speaks at last, of something else.
    assert rows_given(script, *steps) == []
    assert rows_given(script, *steps, {"e": table(7, 99)}) == expected
