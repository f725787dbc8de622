"""Split keys: which they are, and that every result meets in one cell; what cells give is in `test_redeal*.py`."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.columns.hashing import hash_rows
from penstock.runtime.input.batch import HOME, INDEX
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.routing import route
from penstock.runtime.input.split_keys import KeyTally, Split, may_be_spread
from penstock.testing import Run
from tests.runtime.driving import plan_of

TIMES = "ts BIGINT, EVENT TIME ts, ORDERED BY ts"
PAIR = f"""CREATE STREAM a (k BIGINT, n BIGINT, {TIMES}); CREATE STREAM b (k BIGINT, n BIGINT, {TIMES});
SELECT a.n, b.n AS m FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 10;"""
LEFT = PAIR.replace("JOIN", "LEFT JOIN")
HOT = 7


def hashed(*keys: int) -> tuple[int, ...]:
    return tuple(sorted(map(int, hash_rows(pa.table({"k": list(keys)}), ["k"]))))


def rows(keys: list[int], first: int = 0) -> pa.Table:
    places = range(first, first + len(keys))
    return pa.table({"k": pa.array(keys, pa.int64()), "n": list(places), "ts": [place // 1_000 for place in places]})


@pytest.mark.parametrize(
    ("script", "spread"),
    [
        (PAIR, ("a", "b")),
        (LEFT, ("a",)),
        (PAIR.replace("JOIN", "FULL JOIN"), ()),
        (PAIR.replace("SELECT", "SELECT /*+ BUDGET(9 ROWS) */"), ()),
        (PAIR.replace("ORDERED BY ts", "ORDERED BY ts, CLUSTERED BY k", 1).replace("b.ts BETWEEN", "1 < 2 --"), ()),
        (
            PAIR.replace(
                "ORDERED BY ts)", "ORDERED BY ts, COOCCURS (k) AND b (k) WINDOW [0, 9] ON VIOLATION QUARANTINE)", 1
            ),
            (),
        ),
    ],
)
def test_streams_are_spread_that_stand_in_every_result_and_whose_rows_may_lie_apart(
    script: str, spread: tuple[str, ...]
) -> None:
    assert may_be_spread(plan_of(script)) == spread


def test_a_stream_whose_key_closes_something_is_not_spread() -> None:
    script = f"""CREATE STREAM a (k BIGINT, {TIMES}, PRIMARY KEY (k)); CREATE STREAM b (k BIGINT, {TIMES},
    FOREIGN KEY (k) REFERENCES a (k)); SELECT a.k FROM a JOIN b ON a.k = b.k;"""
    assert may_be_spread(plan_of(script)) == ("b",)


def test_a_key_is_split_if_it_would_fill_a_cell_and_its_other_rows_are_few() -> None:
    plan = plan_of(PAIR)
    tally = KeyTally(plan, 0)
    tally.add("a", rows([*range(100, 1_100), HOT, *[8] * 900]))
    tally.add("b", rows([*range(2_000, 3_000), *[HOT] * 1_500, *[8] * 800, *[9] * 100]))
    # The rows of 8 are many in both: those of each are copied to two cells, and no cell has more than half. Those of 9
    # fill no cell.
    assert tally.splits(4) == (Split(0, (("a", 2), ("b", 2)), hashed(8)), Split(0, (("b", 4),), hashed(HOT)))
    assert tally.splits(1) == ()
    small = KeyTally(plan, 0)
    small.add("a", rows([HOT] * 99))
    assert small.splits(4) == (), "nobody minds where a few rows lie"


def test_nothing_is_split_where_no_stream_may_be_spread_or_no_row_is_stored() -> None:
    full = plan_of(PAIR.replace("JOIN", "FULL JOIN"))
    tally = KeyTally(full, 0)
    tally.add("a", rows([HOT] * 50))
    assert tally.splits(4) == ()
    assert KeyTally(plan_of(PAIR), 0).splits(4) == ()


def shares(grid: Grid, plan: Any, stream: str, table: pa.Table) -> dict[int, set[int]]:
    """By row, the cells that it goes to."""
    routed = route(plan, grid, stream, table, passes={}, punctuations={})
    found: dict[int, set[int]] = {n: set() for n in range(table.num_rows)}
    homes: Counter[int] = Counter()
    for cell in range(grid.cells):
        for share in routed.chunk(cell).rows.values():
            index = share.column(INDEX).to_pylist()
            assert index == sorted(index), "in the order of the chunk"
            for n in index:
                found[n].add(cell)
            is_home = share.column(HOME).to_pylist() if HOME in share.column_names else [True] * len(index)
            homes.update(n for n, here in zip(index, is_home, strict=True) if here)
    assert homes == dict.fromkeys(range(table.num_rows), 1)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_of_a_result_meet_in_exactly_one_cell(seed: int) -> None:
    draw = Random(seed)
    plan = plan_of(PAIR)
    share = draw.choice((2, 3, 8))
    both = Split(0, (("b", 2), ("a", share // 2)), hashed(3))
    grid = Grid((share,), (Split(0, (("a", share),), hashed(1, 2)), Split(0, (("b", share),), hashed(HOT)), both))
    keys = {stream: [draw.choice((1, 2, 3, 4, HOT)) for _ in range(40)] for stream in "ab"}
    cells = {stream: shares(grid, plan, stream, rows(keys[stream])) for stream in "ab"}
    for n, own in enumerate(keys["a"]):
        for m, other in enumerate(keys["b"]):
            assert len(cells["a"][n] & cells["b"][m]) == 1 or own != other
    assert {len(cells["b"][m]) for m, key in enumerate(keys["b"]) if key in (1, 2)} == {grid.cells}
    assert {len(cells["a"][n]) for n, key in enumerate(keys["a"]) if key in (1, 2)} == {1}
    assert len(set.union(*(cells["b"][m] for m, key in enumerate(keys["b"]) if key == HOT))) > 1
    assert {len(cells["b"][m]) for m, key in enumerate(keys["b"]) if key == 3} <= {share // 2}
    assert {len(cells["a"][n]) for n, key in enumerate(keys["a"]) if key == 3} <= {2}


def test_a_chunk_that_is_read_again_goes_where_it_went() -> None:
    plan, grid = plan_of(PAIR), Grid((8,), (Split(0, (("a", 8),), hashed(HOT)),))
    table = rows([HOT] * 50)
    assert shares(grid, plan, "a", table) == shares(grid, plan, "a", table)


def test_a_split_is_kept_as_it_is() -> None:
    split = Split(1, (("b", 4), ("a", 2)), hashed(1, 2, 3))
    assert Split.from_dict(split.to_dict()) == split


def fullest(run: Run) -> float:
    """What the fullest cell holds, beside the mean."""
    line = run.steps[-1].known
    return float(line["fullest_cell"] * 16 / sum(line["state_rows"].values()))


@pytest.mark.parametrize("script", [PAIR, LEFT], ids=["inner", "left"])
def test_a_state_with_one_hot_key_is_spread_evenly_and_answers_as_before(script: str) -> None:
    draw = np.random.default_rng(3)
    run, plain = (Run(script, cells=16) for _ in range(2))
    for batch in range(8):
        # Half of the rows of a have one key; of b few have it.
        hot = np.where(draw.random(3_000) < 0.5, HOT, draw.integers(100, 10**9, 3_000))
        few = np.where(draw.random(3_000) < 0.003, HOT, draw.integers(100, 10**9, 3_000))
        tables = {"a": rows(hot.tolist(), batch * 3_000), "b": rows(few.tolist(), batch * 3_000)}
        made, beside = run.step(tables), plain.step(tables)
        assert sorted(map(str, made.rows.to_pylist())) == sorted(map(str, beside.rows.to_pylist()))
        assert made.metrics["state_tuples"] == beside.metrics["state_tuples"]
        if batch == 1:
            run.rescale(16)
    assert fullest(plain) > 3
    assert fullest(run) < 1.5
    assert len(plain.end().rows) == len(run.end().rows)
