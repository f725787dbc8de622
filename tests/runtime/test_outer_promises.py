"""When each kind of promise makes a missing partner certain, and what becomes of a row that comes after that.

By hand: the batch in which a row with NULLs comes, for every kind of promise that closes; and, for every answer to a
violation, a partner that comes too late. What was given stays; nothing is taken back.
"""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.plan.runnable import obstacles
from penstock.runtime import PromiseBroken
from tests.runtime.driving import Driver

A = "CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts{a});"
B = "CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts{b});"
LEFT = "SELECT a.n AS an, b.n AS bn FROM a LEFT JOIN b ON a.k = b.k{on}"
FULL = "SELECT a.n AS an, b.n AS bn FROM a FULL JOIN b ON a.k = b.k{on}"
ANTI = "SELECT a.n AS an FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k{on})"
SEMI = "SELECT a.n AS an FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k{on})"
BAND = " AND b.ts BETWEEN a.ts AND a.ts + 5"


def driver(query: str, *, a: str = "", b: str = "", on: str = "") -> Driver:
    streams = A.format(a=f", {a}" if a else "") + B.format(b=f", {b}" if b else "")
    return Driver(streams + query.format(on=on) + ";")


def given(result: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(c.to_pylist() for c in result.rows.columns), strict=True), key=str)


def test_a_clock_makes_it_certain_when_it_has_passed_the_band_and_not_before() -> None:
    run = driver(LEFT, b="ORDERED BY ts WITHIN 2", on=BAND)
    assert given(run.step(a=[(1, 10, 100), (2, 10, 101)], b=[(1, 12, 200)])) == [(100, 200)]
    assert given(run.step(b=[(9, 17, 201)])) == []
    assert given(run.step(b=[(9, 18, 202)])) == [(101, None)]
    assert run.stored("a") == 0


def test_a_tuple_that_lost_its_partner_to_a_purge_is_not_unmatched() -> None:
    run = driver(LEFT, a="ORDERED BY ts WITHIN 0", b="ORDERED BY ts WITHIN 0", on=BAND)
    assert given(run.step(a=[(1, 10, 100)], b=[(1, 10, 200)])) == [(100, 200)]
    run.step(a=[(3, 30, 101)])
    assert (run.stored("a"), run.stored("b")) == (2, 0)
    assert given(run.step(b=[(9, 20, 201)])) == []
    assert run.stored("a") == 1


def test_a_punctuation_makes_it_certain() -> None:
    run = driver(LEFT, b="PUNCTUATED ON (k) WHEN n = -1")
    assert given(run.step(a=[(1, 0, 100), (2, 0, 101)], b=[(1, 0, 200)])) == [(100, 200)]
    assert given(run.step(b=[(1, 0, -1)])) == []
    assert given(run.step(b=[(2, 0, -1)])) == [(101, None)]


def test_a_key_whose_row_a_filter_dropped_makes_it_certain() -> None:
    run = driver(LEFT, b="PRIMARY KEY (k)", on=" AND b.n = 7")
    assert given(run.step(a=[(1, 0, 100), (2, 0, 101)], b=[(1, 0, 7)])) == [(100, 7)]
    assert given(run.step(b=[(2, 0, 8)])) == [(101, None)]


def test_follows_makes_it_certain_after_k_rows() -> None:
    run = driver(ANTI, a="FOLLOWS b (k) ON (k) WITHIN 2 ROWS")
    assert given(run.step(a=[(1, 0, 100), (2, 0, 101)])) == []
    assert given(run.step(b=[(1, 0, 200)])) == []
    assert given(run.step(b=[(9, 0, 201)])) == [(101,)]


def test_the_end_of_a_cluster_makes_it_certain_for_what_came() -> None:
    run = driver(LEFT, b="CLUSTERED BY k WITHIN 0 ROWS", on=" AND b.n > a.n")
    assert given(run.step(a=[(1, 0, 100)], b=[(1, 0, 5)])) == []
    assert given(run.step(b=[(2, 0, 500)])) == [(100, None)]


def test_rows_windows_make_it_certain_when_the_row_is_out_of_reach() -> None:
    run = driver("SELECT a.n AS an, b.n AS bn FROM a [ROWS 2] LEFT JOIN b ON a.k = b.k{on}")
    assert given(run.step(a=[(1, 0, 100), (2, 0, 101)])) == []
    assert given(run.step(a=[(3, 0, 102)], b=[(2, 0, 200)])) == [(100, None), (101, 200)]
    assert run.stored("a") == 2


def test_a_null_key_is_final_at_once_and_a_semi_join_gives_a_row_once() -> None:
    run = driver(FULL, b="ORDERED BY ts WITHIN 0")
    assert given(run.step(a=[(None, 0, 100)], b=[(None, 0, 200)])) == [(100, None), (None, 200)]
    semi = driver(SEMI)
    assert given(semi.step(a=[(1, 0, 100), (2, 0, 101)], b=[(1, 0, 200), (1, 0, 201)])) == [(100,)]
    assert given(semi.step(b=[(1, 0, 202), (2, 0, 203)])) == [(101,)]
    assert semi.stored("a") == 0


def test_a_condition_on_the_preserved_side_makes_a_row_unmatched_and_drops_nothing() -> None:
    run = driver(LEFT, b="ORDERED BY ts WITHIN 0", on=f"{BAND} AND a.n > 100")
    (test,) = run.plan.tree.tests
    assert (test.alias, test.text, test.rejects_absent) == ("a", "a.n > 100", True)


@pytest.mark.parametrize("policy", ["ADAPT", "TRUST", "QUARANTINE", "FAIL"])
@pytest.mark.parametrize(("query", "row"), [(LEFT, (100, None)), (FULL, (100, None)), (ANTI, (100,))])
def test_a_partner_that_comes_after_the_row_was_given(policy: str, query: str, row: tuple[Any, ...]) -> None:
    run = driver(query, b=f"ORDERED BY ts WITHIN 0 ON VIOLATION {policy}", a="ORDERED BY ts WITHIN 0", on=BAND)
    assert row in given(run.step(a=[(1, 10, 100)], b=[(9, 20, 200)]))
    if policy == "FAIL":
        with pytest.raises(PromiseBroken, match="ORDERED BY ts"):
            run.step(b=[(1, 12, 201)])
        return
    late = run.step(b=[(1, 12, 201)], a=[(8, 40, 101)])
    assert late.metrics.violations == {"ORDERED BY ts WITHIN 0 ON b": 1}
    # The row that was given stays, and its late partner finds nothing: in a FULL JOIN it is a row without a match.
    is_kept = policy != "QUARANTINE" and query == FULL
    assert [r for r in given(late) if 201 in r] == ([(None, 201)] if is_kept else [])
    assert [len(q.rows) for q in late.quarantined] == ([1] if policy == "QUARANTINE" else [])
    assert late.metrics.k["ORDERED BY ts WITHIN 0 ON b"] == (8 if policy == "ADAPT" else 0)


@pytest.mark.parametrize("policy", ["ADAPT", "TRUST", "QUARANTINE"])
def test_a_late_row_whose_partner_has_left_is_counted_and_has_no_match(policy: str) -> None:
    run = driver(LEFT, a=f"ORDERED BY ts WITHIN 0 ON VIOLATION {policy}", b="ORDERED BY ts WITHIN 0", on=BAND)
    run.step(a=[(7, 30, 100)], b=[(1, 10, 200)])
    assert run.stored("b") == 0
    late = run.step(a=[(1, 9, 101)], b=[(9, 20, 201)])
    assert late.metrics.violations == {"ORDERED BY ts WITHIN 0 ON a": 1}
    assert given(late) == ([] if policy == "QUARANTINE" else [(101, None)])


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ("SELECT /*+ BUDGET(10 ROWS) */ a.n FROM a LEFT JOIN b ON a.k = b.k", None),
        ("SELECT /*+ BUDGET(10 ROWS) */ a.n FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN a AS c ON a.k = c.k", None),
        ("SELECT /*+ BUDGET(10 ROWS) */ l.n FROM l LEFT JOIN b ON l.k = b.k", "learned too small"),
        ("SELECT /*+ BUDGET(10 ROWS) */ l.n FROM l WHERE EXISTS (SELECT 1 FROM b WHERE l.k = b.k)", None),
        ("SELECT /*+ BUDGET(10 ROWS), ARCHIVE('x') */ a.n FROM a LEFT JOIN b ON a.k = b.k", "ARCHIVE"),
        ("SELECT /*+ BUDGET(10 ROWS), SHED(INPUT) */ a.n FROM a LEFT JOIN b ON a.k = b.k", None),
        ("SELECT a.n FROM a [ROWS 3] LEFT JOIN b ON a.k = b.k FULL JOIN a AS c ON c.k = b.k", None),
        ("SELECT /*+ BUDGET(10 ROWS) */ a.n FROM a LEFT JOIN b ON a.k = b.k WHERE b.n > 3", None),
        ("SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b [ROWS 3] WHERE a.k = b.k)", None),
        (
            "SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k) "
            "AND NOT EXISTS (SELECT 1 FROM a [ROWS 1] AS c WHERE a.ts = c.ts)",
            None,
        ),
    ],
)
def test_what_cannot_be_run_is_said_before_it_starts(select: str, why: str | None) -> None:
    learned = "CREATE STREAM l (k BIGINT, n BIGINT, FOLLOWS b (k) ON (k) WITHIN AUTO);"
    (query,) = penstock.parse(A.format(a="") + B.format(b="") + learned + select + ";").queries
    found = list(each_told(obstacles(query)))
    assert len(found) == (why is not None)
    assert why is None or why in found[0]


@pytest.mark.parametrize("kind", ["LEFT", "FULL"])
def test_a_key_is_looked_for_by_the_column_whose_value_is_sure_to_come(kind: str) -> None:
    run = Driver(
        "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, PRIMARY KEY (n));"
        f"SELECT x.n, y.n AS yn FROM s AS x {kind} JOIN s AS y ON x.n = y.n AND x.n = y.k;"
    )
    alone = kind == "FULL"
    assert given(run.step(s=[(3, 0, 1), (7, 0, 7)])) == [(1, None), (7, 7), *[(None, 1)] * alone]
    assert given(run.step(s=[(9, 0, 8)])) == [(8, None), *[(None, 8)] * alone]
    assert (run.stored("x"), run.stored("y")) == (0, 0)


def test_what_an_inner_partner_closes_makes_a_missing_row_certain() -> None:
    """c, not a, says when no b comes; (a LEFT b) JOIN c waits as (a JOIN c) LEFT b does."""
    cell = Driver(
        """
        CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT, FOLLOWS c (k) ON (k) WITHIN 5 ROWS);
        CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, FOLLOWS a (k) ON (k) WITHIN 5 ROWS);
        CREATE STREAM c (k BIGINT, ts BIGINT, n BIGINT,
          FOLLOWS a (k) ON (k) WITHIN 5 ROWS, FOLLOWS b (k) ON (k) WITHIN 5 ROWS);
        SELECT a.n AS an, b.n AS bn, c.n AS cn FROM a LEFT JOIN b ON b.k = a.k JOIN c ON c.k = a.k;
        """
    )
    given: list[dict[str, Any]] = []
    for number in range(60):
        key = number if number % 2 == 0 else 1000 + number
        given += cell.step(a=[(number, 0, number)], c=[(number, 0, number)], b=[(key, 0, number)]).rows.to_pylist()
        assert max(cell.stored(alias) for alias in "abc") <= 8
    assert sorted(given, key=lambda row: row["a_n"])[:40] == [
        {"a_n": n, "b_n": n if n % 2 == 0 else None, "c_n": n} for n in range(40)
    ]


def test_a_row_whose_own_columns_differ_is_final_at_once() -> None:
    """b.k = a.k and b.k = a.n can both hold only where a.k = a.n."""
    cell = driver(LEFT, on=" AND b.k = a.n")
    given = cell.step(a=[(1, 0, 2), (3, 0, 3)]).rows.to_pylist()
    assert [row["a_n"] for row in given] == [2]
    assert cell.stored("a") == 1


def test_a_row_leaves_when_the_last_that_it_waited_for_is_settled_by_another_exists() -> None:
    """f is closed for a at once by its key; but a row of a waits for e, and f with it, until the clock of e decides."""
    cell = Driver(
        """
        CREATE STREAM a (j BIGINT, k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts, PRIMARY KEY (j));
        CREATE STREAM e (j BIGINT, k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);
        CREATE STREAM f (j BIGINT, k BIGINT, ts BIGINT, n BIGINT,
          FOREIGN KEY (j) REFERENCES a (j), PUNCTUATED ON (j) WHEN n = -1);
        SELECT a.ts FROM a WHERE EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND e.ts - a.ts BETWEEN 0 AND 4)
          AND NOT EXISTS (SELECT 1 FROM f WHERE f.j = a.j);
        """,
        "j k ts n",
    )
    assert penstock.check(penstock.parse(cell.script)).verdict == "bounded"
    for b in range(1, 60):
        cell.step(a=[(b, b, 10 * b, 0)], e=[(0, 1_000_000 + b, 10 * b + 1, 0)], f=[(b, 0, 0, 0), (b - 1, 0, 0, -1)])
        assert max(cell.stored(alias) for alias in "aef") <= 2
