"""The exchange without Spark: rows packed, dealt to cells, and joined there, by the hundred.

Three streams and two key classes, so that T and U are copied. S is not: a row of S lives in one cell, which must hear
of every key of T and U that closes something for it, dropped by a filter or not. So S holds the same rows with any
number of cells as with one, batch for batch, and the answer is that of the slow reference. Copies of T and U that no
row of S meets leave by the keys of S, which live in other cells of their line: where a single cell is left with
none, no copy may be left. The single cell is fed by the core's own `Chunk.of`, not by the packer under test.
Punctuations, rows with a negative n, must reach every cell of their line in the same way.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock
from penstock.compile import plan
from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Chunk, Punctuating, punctuation_promises
from penstock.spark import pack
from penstock.spark.cells import KeyedGrid
from penstock.spark.pack import PLACE, Packer, passes, unpack_chunks
from penstock.spark.punctuations import conditions
from tests.measure import size
from tests.spark.oracle import Bag, joined, same

Rows = list[dict[str, Any]]
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
PUNCTUATED = "PUNCTUATED ON ({}) WHEN n < 0"
ON_A, ON_B, ON_BOTH = PUNCTUATED.format("a"), PUNCTUATED.format("b"), PUNCTUATED.format("a, b")
KEYS = {
    "s": [
        "",
        "PRIMARY KEY (a)",
        "PRIMARY KEY (b)",
        "PRIMARY KEY (a), PRIMARY KEY (b)",
        ON_A,
        f"{ON_A}, {ON_B}",
        ON_BOTH,
    ],
    "t": ["", "PRIMARY KEY (a)", ON_A, f"PRIMARY KEY (a), {ON_A}"],
    "u": ["", "PRIMARY KEY (b)", ON_B],
}


class Exchange:
    """A query over so many cells, and what came of it; with none, a single cell that the core itself feeds."""

    def __init__(self, made: Plan, cells: int) -> None:
        self.plan = made
        self.grid = KeyedGrid.over(made, cells) if cells else None
        self.cells = {key: Cell(made) for key in (self.grid.keys if self.grid else (0,))}
        self.answer: Bag = Counter()
        self.stored: list[dict[str, int]] = []
        """After each batch, by alias: copies, except for s, which has none."""
        self.quarantined: list[int] = []
        self.violations = 0

    def step(self, number: int, batch: dict[str, Rows]) -> None:
        shares = self._shares(batch)
        stored: Counter[str] = Counter()
        for key, cell in self.cells.items():
            result = cell.step(Batch(number, tuple(shares[key])))
            self.answer.update(tuple(row.values()) for row in result.rows.to_pylist())
            for kept_out in result.quarantined:
                self.quarantined += kept_out.rows.column("n").to_pylist()
            self.violations += sum(result.metrics.violations.values())
            stored.update(result.metrics.state_rows)
        self.stored.append({alias: stored[alias] for alias in self.plan.aliases})

    def _shares(self, batch: dict[str, Rows]) -> dict[int, list[Chunk]]:
        packed, chunks = [], []
        for stream, rows in batch.items():
            is_punctuated = any(p.stream == stream for p in self.plan.punctuations)
            given = rows if is_punctuated else [row for row in rows if row["n"] >= 0]
            table = pa.Table.from_pylist(given, schema=SCHEMA)
            negative = pc.less(table.column("n"), 0)
            # The one filter of these queries.
            odd = pc.equal(pc.bit_wise_and(table.column("n"), 1), 1)
            filtered = {source.alias: odd for source in self.plan.sources if source.stream == stream and source.filters}
            if self.grid is None:
                made = {number: negative for number, _ in punctuation_promises(self.plan, stream)}
                told = Punctuating(negative, made)
                chunks.append(Chunk.of(self.plan, stream, 0, table, filtered, punctuating=told))
                continue
            # The packer is given what the plan reads, no more.
            table = table.select([c.name for s in self.plan.sources if s.stream == stream for c in s.read])
            for _, name, _ in conditions(self.plan, stream):
                table = table.append_column(name, negative)
            for alias, mask in filtered.items():
                table = table.append_column(passes(alias), mask)
            for packing in Packer(self.plan, stream, self.grid, False)(table.to_batches()):
                packed += packing.to_pylist()
        if self.grid is None:
            return {0: chunks}
        return {key: unpack_chunks([row for row in packed if row["cell"] == key]).chunks for key in self.grid.keys}


def plan_of(rng: random.Random) -> Plan:
    streams = ""
    for name, keys in KEYS.items():
        key = rng.choice(keys)
        more = f", {key}" if key else ""
        # An event time that the query has no use for, and so does not read.
        more += ", EVENT TIME b" if name == "t" and rng.random() < 0.5 else ""
        streams += f"CREATE STREAM {name} (a BIGINT, b BIGINT, n BIGINT{more});\n"
    where = "s.a = t.a AND s.b = u.b" + (" AND t.n % 2 = 1" if rng.random() < 0.5 else "")
    return plan(penstock.parse(f"{streams} SELECT s.n, t.n AS m, u.n AS o FROM s, t, u WHERE {where};"))


def batches_of(rng: random.Random, count: int) -> list[dict[str, Rows]]:
    """Rows that keep every key that may be declared, and punctuations of most values, each after its row."""
    number = iter(range(1000))
    pairs = list(zip(rng.sample(range(6), 6), rng.sample(range(6), 6), strict=True))
    firsts, seconds = rng.sample(range(6), 6), rng.sample(range(6), 6)
    batches: list[dict[str, Rows]] = [{"s": [], "t": [], "u": []} for _ in range(count)]
    for a, b in pairs:
        rng.choice(batches)["s"].append({"a": a, "b": b, "n": next(number)})
    for a in firsts:
        rng.choice(batches)["t"].append({"a": a, "b": None, "n": next(number)})
    for b in seconds:
        rng.choice(batches)["u"].append({"a": None, "b": b, "n": next(number)})
    for stream in "stu":
        data = [(place, row) for place, batch in enumerate(batches) for row in batch[stream]]
        for place, row in data:
            if rng.random() < 0.7:
                rng.choice(batches[place:])[stream].append({**row, "n": -1})
    return batches


@pytest.mark.measure
def test_cells_agree_with_one_cell_and_with_the_reference() -> None:
    for seed in range(size(60, 1000)):
        rng = random.Random(seed)
        made = plan_of(rng)
        batches = batches_of(rng, rng.randint(1, 4))
        filtered = any(source.filters for source in made.sources)
        whole = [[row for batch in batches for row in batch[stream] if row["n"] >= 0] for stream in "stu"]
        expected = joined(
            whole,
            lambda s, t, u, odd=filtered: (
                same(s["a"], t["a"]) and same(s["b"], u["b"]) and (not odd or t["n"] % 2 == 1)
            ),
            lambda s, t, u: (s["n"], t["n"], u["n"]),
        )
        alone, *others = runs = [Exchange(made, cells) for cells in (0, 1, rng.choice([2, 3]), rng.choice([4, 6]))]
        for run in runs:
            for number, batch in enumerate(batches):
                run.step(number, batch)
            assert run.answer == expected, (seed, run.grid)
        for run in others:
            for single, several in zip(alone.stored, run.stored, strict=True):
                assert several["s"] == single["s"], (seed, run.grid)
                gone = [alias for alias, rows in single.items() if rows == 0]
                assert [several[alias] for alias in gone] == [0] * len(gone), (seed, run.grid)


def test_a_copied_row_is_quarantined_once() -> None:
    text = "CREATE STREAM s (a BIGINT, b BIGINT, n BIGINT); CREATE STREAM u (a BIGINT, b BIGINT, n BIGINT);"
    text += "CREATE STREAM t (a BIGINT, b BIGINT, n BIGINT, PRIMARY KEY (a) ON VIOLATION QUARANTINE);"
    text += "SELECT s.n, t.n AS m, u.n AS o FROM s, t, u WHERE s.a = t.a AND s.b = u.b;"
    run = Exchange(plan(penstock.parse(text)), 4)
    run.step(0, {"t": [{"a": 1, "b": None, "n": 1}]})
    run.step(1, {"t": [{"a": 1, "b": None, "n": 2}]})
    assert run.quarantined == [2]


@pytest.mark.parametrize("policy", ["ADAPT", "QUARANTINE"])
def test_what_only_a_match_shows_is_counted_and_kept_out_in_whichever_cell_it_is_seen(policy: str) -> None:
    """Rows of t go to every cell along the axis that they lack, and their match is in one of these."""
    fields = "a BIGINT, b BIGINT, n BIGINT"
    text = f"CREATE STREAM s ({fields}, FOLLOWS t (a) ON (a) WITHIN 2 ROWS ON VIOLATION {policy});"
    text += f"CREATE STREAM t ({fields}); CREATE STREAM u ({fields});"
    text += "SELECT s.n, t.n AS m, u.n AS o FROM s, t, u WHERE s.a = t.a AND s.b = u.b;"
    run = Exchange(plan(penstock.parse(text)), 4)
    several = [{"a": a, "b": a % 3, "n": a} for a in range(8)]
    run.step(0, {"s": several, "t": [], "u": [{"a": 0, "b": b, "n": b} for b in range(3)]})
    run.step(1, {"s": [], "t": [{"a": a, "b": 0, "n": a} for a in (100, 101)], "u": []})
    run.step(2, {"s": [], "t": several, "u": []})
    assert run.violations == 8
    assert sorted(run.quarantined) == (list(range(8)) if policy == "QUARANTINE" else [])
    assert not run.answer


@pytest.mark.parametrize("places", [None, ["1/0/x", None, None, "2/0/y", None, "2/0/z", "3/0/a"]])
def test_what_is_packed_in_portions_is_what_is_packed_whole(
    places: list[str | None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(
        penstock.parse(
            "CREATE STREAM s (a BIGINT, b BIGINT, ORDERED BY b WITHIN 3 ROWS); CREATE STREAM t (a BIGINT, b BIGINT);"
            "SELECT s.b, t.b AS m FROM s, t WHERE s.a = t.a;"
        )
    )
    grid = KeyedGrid.over(made, 2)
    table = pa.table({"a": pa.array([1, 2, 3, 1, 2, 3, 4]), "b": pa.array(range(7))})
    if places is not None:
        table = table.append_column(PLACE, pa.array(places))
    found: list[list[list[int]]] = []
    for portion in (pack.PORTION, 1):
        monkeypatch.setattr(pack, "PORTION", portion)
        batches = list(Packer(made, "s", grid, places is not None)(table.to_batches(max_chunksize=1)))
        # The last of several has only the note of how long it took.
        assert len(batches) == (1 if portion > 1 else 8)
        rows = [row for batch in batches for row in batch.to_pylist()]
        cells = [unpack_chunks([row for row in rows if row["cell"] == key]).chunks for key in grid.keys]
        assert [sum(chunk.header.rows for chunk in chunks) for chunks in cells] == [7, 7]
        found.append([[b for c in its if "s" in c.rows for b in c.rows["s"].column("b").to_pylist()] for its in cells])
    assert found[0] == found[1]
    assert sorted(b for its in found[0] for b in its) == list(range(7))
