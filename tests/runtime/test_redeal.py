"""State dealt to other cells goes on as it was: random whole queries, rescaled between batches, beside DuckDB.

And beside a run that is never rescaled: the same rows, batch by batch, and no more state.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from penstock.errors import NotSupportedYet, PenstockError
from penstock.testing import Run
from tests.measure import FULL, size
from tests.whole_queries.grammar import Writer
from tests.whole_queries.test_whole_queries import as_row, batches, by_duckdb, read_by


def rescaled(seed: int, depth: int) -> bool | None:
    """Whether a query was rescaled, and not refused; None if it was refused altogether."""
    # Of every second query keys of the fewest rows are split, of the others none is.
    with patch("penstock.runtime.input.split_keys.LEAST_ROWS", 1 if seed % 2 else 10**9):
        return _rescaled(seed, depth)


def _rescaled(seed: int, depth: int) -> bool | None:
    draw = random.Random(seed)
    drawn = Writer(draw, depth).script()
    given = batches(draw)
    try:
        run, plain = (Run(drawn.for_penstock, cells=3) for _ in range(2))
    except PenstockError:
        return None
    streams = read_by(run.query)
    found: Counter[tuple[Any, ...]] = Counter()
    moved = False
    for number, step in enumerate([*given, None]):
        if number and draw.random() < 0.7:
            try:
                run.rescale(draw.choice((1, 2, 4, 5)))
                moved = True
            except NotSupportedYet:
                pass
        tables = None if step is None else {name: step[name] for name in streams if name in step}
        try:
            made, beside = (one.end() if tables is None else one.step(tables) for one in (run, plain))
        except PenstockError:
            return None
        rows = Counter(as_row(row.values()) for row in made.rows.to_pylist())
        assert rows == Counter(as_row(row.values()) for row in beside.rows.to_pylist()), f"seed {seed}, batch {number}"
        # All rows are asked anew whether they may go, which finds some that the rule asks of later. Where a key is
        # split, rows that the query cannot tell apart may lie in several cells, and are merged in each.
        held, other = (one.metrics["state_tuples"] for one in (made, beside))
        is_split = any(block.grid.splits for block in run.blocks)
        assert is_split or all(held[alias] <= other[alias] for alias in other), f"seed {seed}, batch {number}"
        found += rows
    assert found == by_duckdb(drawn, given), f"seed {seed}, depth {depth}\n{drawn.for_penstock}"
    return moved


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_query_that_is_rescaled_gives_what_it_would_have_given(depth: int) -> None:
    examples = size(30, 3000)
    first = random.SystemRandom().randrange(10**9) if FULL else 7000
    found = [rescaled(seed, depth) for seed in range(first, first + examples)]
    assert sum(moved is True for moved in found) > examples * 0.3


PAIR = "CREATE STREAM s (a BIGINT, n BIGINT{}); CREATE STREAM t (a BIGINT, n BIGINT); "
COPIED = """
CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (a BIGINT); CREATE STREAM u (b BIGINT);
SELECT /*+ BUDGET(10 ROWS) */ s.a FROM s, t, u WHERE s.a = t.a AND s.b = u.b;
"""
RECOVERED = PAIR.format(", ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER") + (
    "SELECT s.n FROM s LEFT JOIN t ON s.a = t.a LEFT JOIN t AS u ON u.n = s.n;"
)
REFUSED = {
    "copied": (COPIED, "copies of rows were evicted"),
    "archive": (
        PAIR.format("") + "SELECT /*+ BUDGET(10 ROWS), ARCHIVE('x') */ s.n FROM s, t WHERE s.a = t.a;",
        "an ARCHIVE",
    ),
    "recover": (RECOVERED, "RECOVER over several outer joins or EXISTS, and copies of rows"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_dealt_is_refused_by_name(what: str) -> None:
    script, says = REFUSED[what]
    run = Run(script, cells=4)
    with pytest.raises(NotSupportedYet, match="cannot be dealt to other cells") as refused:
        run.rescale(2)
    assert says in str(refused.value)


def test_keys_that_arrived_and_rows_of_followers_go_with_their_values() -> None:
    script = """
    CREATE STREAM s (a BIGINT, n BIGINT, FOLLOWS t (a) ON (a) WITHIN 3 ROWS);
    CREATE STREAM t (a BIGINT, PRIMARY KEY (a));
    SELECT s.n FROM s, t WHERE s.a = t.a;
    """
    draw = random.Random(5)
    run, plain = (Run(script, cells=2) for _ in range(2))
    keys = draw.sample(range(200), 60)
    for batch in range(12):
        tables = {
            "s": pa.table({"a": [draw.choice(keys) for _ in range(6)], "n": list(range(batch * 6, batch * 6 + 6))}),
            "t": pa.table({"a": keys[batch * 5 : batch * 5 + 5]}),
        }
        made, beside = run.step(tables), plain.step(tables)
        assert Counter(map(str, made.rows.to_pylist())) == Counter(map(str, beside.rows.to_pylist()))
        for field in ("state_tuples", "promise_rows", "violations", "k"):
            assert made.metrics[field] == beside.metrics[field], (batch, field)
        run.rescale(draw.choice((1, 3, 7)))


def test_rows_that_wait_in_several_cells_are_dealt_to_all_of_them() -> None:
    """Rows of c and d wait for those of a and b, which alone have the key that cells are dealt by."""
    stream = "CREATE STREAM {} (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
    script = (
        "".join(map(stream.format, "abcd"))
        + """
    SELECT a.n, b.n AS b, c.n AS c, d.n AS d FROM c JOIN d ON c.k = d.k AND d.ts BETWEEN c.ts AND c.ts + 1
    JOIN (a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 3) ON c.ts BETWEEN a.ts - 4 AND a.ts
      AND (b.n >= c.n OR b.n IS NULL);
    """
    )
    draw = random.Random(5)
    run, plain = (Run(script, cells=2) for _ in range(2))
    assert run.blocks[0].grid.cells == 2
    emitted = 0
    for batch in range(14):
        tables = {name: pa.table({"k": [draw.randrange(3)], "n": [batch], "ts": [batch]}) for name in "abcd"}
        made, beside = run.step(tables), plain.step(tables)
        assert Counter(map(str, made.rows.to_pylist())) == Counter(map(str, beside.rows.to_pylist())), batch
        emitted += made.rows.num_rows
        run.rescale(draw.choice((1, 2, 3)))
    assert emitted > 5


def test_rows_of_which_no_column_is_kept_are_dealt_too() -> None:
    """Of u it matters only how many there are: its rows were lost, and s was given as having no match."""
    timed = "CREATE STREAM {} (a BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts); "
    script = "".join(map(timed.format, "stu")) + "SELECT s.a FROM s JOIN t ON s.a = t.a LEFT JOIN u ON s.a > 1;"
    run = Run(script, cells=3)
    found: Counter[int] = Counter()
    for number, (name, times) in enumerate((("u", [1, 2]), ("s", [1, 2, 3]), ("t", [1, 2, 5]))):
        found.update(run.step({name: pa.table({"a": times, "ts": times})}).rows.column("a").to_pylist())
        run.rescale((2, 4, 1)[number])
    found.update(run.end().rows.column("a").to_pylist())
    assert found == {1: 1, 2: 2}


@pytest.mark.parametrize("busy", ["t", "u"])
def test_rows_of_the_stream_that_has_most_are_not_copied(busy: str) -> None:
    script = """
    CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (a BIGINT); CREATE STREAM u (b BIGINT);
    SELECT s.a, s.b FROM s, t, u WHERE s.a = t.a AND s.b = u.b;
    """
    run, plain = (Run(script, cells=4) for _ in range(2))
    assert run.blocks[0].grid.shares == (2, 2)
    few, many = range(4), [number % 4 for number in range(400)]
    tables = {
        "s": pa.table({"a": list(few), "b": list(few)}),
        "t": pa.table({"a": many if busy == "t" else [0]}),
        "u": pa.table({"b": many if busy == "u" else [0]}),
    }
    for batch in range(3):
        made, beside = run.step(tables), plain.step(tables)
        assert Counter(map(str, made.rows.to_pylist())) == Counter(map(str, beside.rows.to_pylist())), batch
        run.rescale(4)
        assert run.blocks[0].grid.shares == ((4, 1) if busy == "t" else (1, 4))
