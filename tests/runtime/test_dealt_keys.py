"""Keys of several columns, dealt to cells together: several cells give what one cell gives, at every step of a run.

Random histories of two or three streams, joined by two or three columns, under promises of none, some or all of them.
Where one cell sees no promise broken, several see none either.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.testing import Run
from tests.runtime.test_core_against_reference import EXAMPLES

PROMISES = {
    "a": ("", "PRIMARY KEY (x)", "PRIMARY KEY (x, y)", "PRIMARY KEY (x, y, z)", "PRIMARY KEY (n)"),
    "b": (
        "",
        "PUNCTUATED ON (x, y) WHEN n < 0",
        "PUNCTUATED ON (y) WHEN n < 0",
        "CLUSTERED BY x WITHIN 3 ROWS",
        "FOLLOWS a (x) ON (x) WITHIN 1 SECOND",
        "FOREIGN KEY (x, y) REFERENCES a (x, y)",
    ),
}
QUERIES = (
    "SELECT a.n AS m, b.n FROM a JOIN b ON {xy} AND {near}",
    "SELECT a.n AS m, b.n FROM a JOIN b ON {xy} AND a.z = b.z AND {near}",
    "SELECT a.n AS m, b.n FROM a LEFT JOIN b ON {xy} AND {near}",
    "SELECT a.n AS m FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {xy} AND {near})",
    "SELECT a.x, count(*) AS m, sum(b.n) AS t FROM a JOIN b ON {xy} AND {near} GROUP BY a.x, window(a.ts, '5 seconds')",
    "SELECT a.n AS m, b.n, c.n AS o FROM a JOIN b ON {xy} AND {near} JOIN c ON c.x = a.x AND c.y = a.y AND {far}",
    "SELECT a.n AS m, b.n, c.n AS o FROM a JOIN b ON {xy} AND {near} JOIN c ON c.z = a.z AND {far}",
)
TEXTS = {
    "xy": "a.x = b.x AND a.y = b.y",
    "near": "b.ts BETWEEN a.ts AND a.ts + INTERVAL 4 SECONDS",
    "far": "c.ts BETWEEN a.ts AND a.ts + INTERVAL 4 SECONDS",
}
SCHEMA = pa.schema([*((name, pa.int64()) for name in "xyzn"), ("ts", pa.timestamp("us", "UTC"))])


def script(random: Random) -> str:
    texts = []
    for name in "abc":
        promised = random.choice(PROMISES.get(name, ("",)))
        declared = "".join(
            f", {part}" for part in ("EVENT TIME ts", "ORDERED BY ts WITHIN 2 SECONDS", promised) if part
        )
        texts.append(f"CREATE STREAM {name} (x BIGINT, y BIGINT, z BIGINT, n BIGINT, ts TIMESTAMP{declared});")
    return "\n".join([*texts, random.choice(QUERIES).format(**TEXTS) + ";"])


def rows(random: Random, name: str, batch: int, seen: set[tuple[int, ...]]) -> pa.Table:
    found: list[dict[str, int | None]] = []
    for number in range(random.randint(0, 8)):
        key = tuple(random.choice((0, 0, 0, 1, 2, 3)) for _ in "xyz")
        if name == "a" and random.random() < 0.9:
            # Mostly as the keys have it.
            key = (batch * 8 + number, *key[1:]) if random.random() < 0.5 else key
            if key[:1] in seen or key[:2] in seen:
                continue
            seen |= {key[:1], key[:2]}
        elif name != "a" and seen and random.random() < 0.6:
            key = (*random.choice([k for k in seen if len(k) == 2]), key[2])
        second = batch + random.choice((0, 0, 1))
        mark = -1 if name == "b" and random.random() < 0.1 else batch * 100 + number
        found.append({**dict(zip("xyz", key, strict=True)), "n": mark, "ts": second * 1_000_000})
        if random.random() < 0.05:
            found[-1][random.choice("xyz")] = None
    columns = {field.name: [row[field.name] for row in found] for field in SCHEMA}
    return pa.table({name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()})


def bag(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), cells=st.sampled_from((2, 3, 5, 8)))
def test_several_cells_give_what_one_gives(seed: int, cells: int) -> None:
    random = Random(seed)
    text = script(random)
    runs = [Run(text, cells=number) for number in (1, cells)]
    read = [name for name in "abc" if name in runs[0].plan.streams]
    seen: set[tuple[int, ...]] = set()
    for batch in range(random.randint(2, 9)):
        tables = {name: rows(random, name, batch, seen) for name in read}
        one, many = (run.step(tables) for run in runs)
        if one.metrics["violations"]:
            return
        assert not many.metrics["violations"], text
        assert bag(one.rows) == bag(many.rows), text
        if random.random() < 0.2:
            runs[1].restart()
    assert bag(runs[0].end().rows) == bag(runs[1].end().rows), text


@pytest.mark.parametrize("cells", [4, 16])
def test_a_frequent_value_of_one_column_does_not_fill_one_cell(cells: int) -> None:
    text = """CREATE STREAM a (host BIGINT, port BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND);
CREATE STREAM b (host BIGINT, port BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND);
SELECT a.ts FROM a JOIN b ON a.port = b.port AND a.host = b.host AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR;"""
    run = Run(text, cells=cells)
    times = pa.array(range(4_000), pa.timestamp("us", "UTC"))
    table = pa.table(
        {"host": pa.array(range(4_000), pa.int64()), "port": pa.array([443] * 4_000, pa.int64()), "ts": times}
    )
    run.step({"a": table, "b": table.slice(0, 10)})
    held = [cell.synopses["a"].live for cell in run.top.cells]
    assert len(held) == cells
    assert max(held) < 2 * sum(held) / cells
