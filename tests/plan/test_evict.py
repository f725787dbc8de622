"""What a BUDGET asks for, and what of it cannot be held."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.model.query import Query
from penstock.plan.evict import BYTES_A_ROW, budget_obstacles, bytes_of, evict_plan
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ARRIVES BY ts);"
LEARNED = "CREATE STREAM l (k BIGINT, n BIGINT, FOLLOWS s (k) ON (k) WITHIN AUTO);"
STREAMS = "".join(map(STREAM.format, "rst")) + LEARNED


def query_of(select: str) -> Query:
    (query,) = penstock.parse(f"{STREAMS} SELECT {select};").queries
    return query


@pytest.mark.parametrize(
    ("budget", "rows", "size", "about"),
    [
        ("1 ROWS", 1, None, 1),
        ("2 KB", None, 2_048, 2_048 // BYTES_A_ROW),
        ("3 MB", None, 3 << 20, (3 << 20) // BYTES_A_ROW),
        ("1 GB", None, 1 << 30, (1 << 30) // BYTES_A_ROW),
    ],
)
def test_a_limit_is_in_rows_or_in_bytes(budget: str, rows: int | None, size: int | None, about: int) -> None:
    query = query_of(f"/*+ BUDGET({budget}) */ r.n FROM r, s WHERE r.k = s.k")
    found = evict_plan(query)
    assert found is not None
    assert (found.rows, found.bytes, found.about_rows) == (rows, size, about)
    assert found.limit == (rows or size)
    assert found.unit == ("ROWS" if rows else "bytes")
    assert query.hints.budget is not None
    assert bytes_of(query.hints.budget) == size


def test_without_a_budget_there_is_no_plan_for_one() -> None:
    assert evict_plan(query_of("r.n FROM r, s WHERE r.k = s.k")) is None


def test_each_factor_of_a_value_is_of_one_stream() -> None:
    query = query_of("/*+ BUDGET(9 ROWS), VALUE(r.n * s.n) */ r.n FROM r, s WHERE r.k = s.k")
    found = evict_plan(query)
    assert found is not None
    assert {value.alias: value.text for value in found.values} == {"r": "r.n", "s": "s.n"}


OUTER = "FROM r LEFT JOIN s ON r.k = s.k FULL JOIN t ON t.k = s.k"
OBSTACLES = [
    (f"/*+ BUDGET(9 ROWS) */ r.n {OUTER}", None),
    (f"/*+ BUDGET(9 KB), SHED(INPUT) */ r.n {OUTER}", None),
    (f"/*+ BUDGET(9 ROWS), ARCHIVE('x') */ r.n {OUTER}", "ARCHIVE is joined later for inner joins only"),
    ("/*+ BUDGET(9 ROWS), ARCHIVE('x') */ r.n FROM r, s WHERE r.k = s.k", None),
    ("/*+ BUDGET(9 ROWS), ARCHIVE('x') */ DISTINCT r.n FROM r, s WHERE r.k = s.k", "ARCHIVE emits later"),
    ("/*+ BUDGET(9 ROWS), ARCHIVE('x') */ r.n FROM r [ROWS 3], s WHERE r.k = s.k", "ARCHIVE cannot be joined later"),
    ("/*+ BUDGET(9 KB) */ r.n FROM r [ROWS 3], s WHERE r.k = s.k", "give it in ROWS"),
    ("/*+ BUDGET(9 ROWS) */ r.n FROM r [ROWS 3], s WHERE r.k = s.k", None),
    ("/*+ BUDGET(9 ROWS), VALUE(r.n + s.n) */ r.n FROM r, s WHERE r.k = s.k", "cannot be weighed"),
    ("/*+ BUDGET(9 ROWS) */ l.n FROM l LEFT JOIN s ON l.k = s.k", "learned too small"),
    ("/*+ BUDGET(9 ROWS) */ l.n FROM l, s WHERE l.k = s.k", None),
]


@pytest.mark.parametrize(("select", "says"), OBSTACLES)
def test_what_cannot_be_held_is_said(select: str, says: str | None) -> None:
    found = each_told(budget_obstacles(query_of(select)))
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


def test_a_plan_has_the_budget_of_its_query() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(9 ROWS), EVICT(life) */ r.n {OUTER};")
    assert plan.evict is not None
    assert (plan.evict.rows, plan.evict.policy, plan.evict.shed_input) == (9, "life", False)
