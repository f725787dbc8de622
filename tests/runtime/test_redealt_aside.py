"""What waits and what lies aside, dealt anew; what it then gives is in `test_redeal_workloads.py`."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from penstock.testing import Run

TURNS = """
CREATE STREAM s (a BIGINT, seq BIGINT, ARRIVES BY seq); CREATE STREAM t (a BIGINT, seq BIGINT, ARRIVES BY seq);
SELECT s.seq, t.seq AS other FROM s, t [ROWS 2] WHERE s.a = t.a;
"""


def table(*rows: tuple[int, int]) -> object:
    return pa.table({"a": [a for a, _ in rows], "seq": [seq for _, seq in rows]})


def test_chunks_wait_in_the_new_cells_and_pass_when_their_turn_has_come() -> None:
    run, plain = Run(TURNS, cells=3), Run(TURNS, cells=3)
    steps = [
        {"s": table((1, 10), (2, 20), (3, 30))},
        {"t": table((1, 5), (3, 12))},
        {"s": table((3, 40)), "t": table((2, 13), (3, 35))},
        {"t": table((1, 50))},
    ]
    for number, step in enumerate(steps):
        made, beside = run.step(step), plain.step(step)
        assert sorted(map(str, made.rows.to_pylist())) == sorted(map(str, beside.rows.to_pylist())), number
        assert made.metrics["pending_rows"] == beside.metrics["pending_rows"], number
        run.rescale((2, 1, 4, 3)[number])


SHADOWS = """
CREATE STREAM s (a BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
CREATE STREAM t (a BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
SELECT /*+ MONITOR(1000, 1, 5) */ s.ts, t.ts AS other FROM s, t WHERE s.a = t.a AND s.ts = t.ts;
"""


def test_what_a_late_row_would_have_met_is_counted_wherever_it_lies_now() -> None:
    run = Run(SHADOWS, cells=2)
    for ts in (1, 50, 100):
        run.step({name: pa.table({"a": [5 if name == "s" else 6], "ts": [ts]}) for name in "st"})
    run.rescale(3)
    assert run.step({"t": pa.table({"a": [5], "ts": [1]})}).metrics["lost"] == 1


BUDGETED = """
CREATE STREAM s (a BIGINT, n BIGINT); CREATE STREAM t (a BIGINT, n BIGINT);
SELECT /*+ BUDGET(4 ROWS) */ s.n, t.n AS m FROM s, t WHERE s.a = t.a;
"""


def test_the_account_of_a_budget_goes_on_and_its_rooms_are_together_the_budget() -> None:
    run = Run(BUDGETED, cells=3)
    given = 0
    for number in range(6):
        rows = pa.table({"a": list(range(8)), "n": [number] * 8})
        made = run.step({"s": rows} if number % 2 else {"t": rows})
        given += made.rows.num_rows
        assert sum(made.metrics["state_rows"].values()) + made.metrics["promise_rows"] <= 4
        run.rescale((1, 2, 5, 3, 4, 2)[number])
    assert 0 < made.metrics["recall"] < 1
    # While the sample holds all that was evicted the account is exact: three batches of each stream, eight keys.
    assert round(given / made.metrics["recall"]) == 3 * 3 * 8


TIMED = "CREATE STREAM {} (a BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2 ON VIOLATION RECOVER); "
RECOVERED = "".join(map(TIMED.format, "stu")) + (
    "SELECT s.ts, t.ts AS t, u.ts AS u FROM s LEFT JOIN t ON s.a = t.a AND s.ts = t.ts "
    "LEFT JOIN u ON s.a = u.a AND s.ts = u.ts;"
)


def test_what_was_emitted_under_several_outer_joins_is_known_wherever_its_rows_lie_now() -> None:
    run = Run(RECOVERED, cells=3)
    every = range(1, 20)
    in_t, in_u = [n for n in every if n % 2], [n for n in every if n % 3]
    steps: list[dict[str, list[int]]] = [{"s": [*every]}, {"s": [50], "t": [50], "u": [50]}, {"t": in_t}, {"u": in_u}]
    given: Counter[tuple[int | None, ...]] = Counter()
    contradicted = 0
    for number, step in enumerate([*steps, None]):
        tables = step and {name: pa.table({"a": times, "ts": times}) for name, times in step.items()}
        made = run.end() if tables is None else run.step(tables)
        given.update(tuple(row.values()) for row in made.rows.to_pylist())
        contradicted += made.metrics["contradicted"]
        if tables is not None:
            run.rescale((2, 1, 5, 4)[number])
    answer: Counter[tuple[int | None, ...]] = Counter(
        (n, n if n in in_t else None, n if n in in_u else None) for n in every
    )
    answer[50, 50, 50] = 1
    assert not answer - given
    # Each s was given alone before its matches came, and some of them with one match before the other.
    assert (given - answer).total() == contradicted > len(in_t)
