"""What is read and kept of a source: no column that nothing needs, and a column at all."""

from __future__ import annotations

from penstock.plan.plan import SourcePlan
from tests.runtime.driving import plan_of

STREAMS = (
    "CREATE STREAM s (k BIGINT, kind STRING, ts BIGINT, note STRING, ORDERED BY ts);"
    "CREATE STREAM t (k BIGINT, ts BIGINT, n INT, ORDERED BY ts); CREATE STREAM u (note STRING, k BIGINT);"
)


def source(query: str, alias: str = "s") -> SourcePlan:
    return plan_of(STREAMS + query).by_alias[alias]


def test_a_column_that_only_a_filter_looks_at_is_read_and_not_kept() -> None:
    found = source("SELECT t.n FROM s, t WHERE s.k = t.k AND s.kind = 'x' AND t.ts BETWEEN s.ts AND s.ts + 5;")
    assert {column.name for column in found.read} == {"k", "kind", "ts"}
    assert found.kept == ("k", "ts")
    assert len(found.filters) == 1
    assert "kind" in found.filters[0]


def test_of_a_stream_of_which_nothing_is_asked_one_narrow_column_is_read() -> None:
    found = source("SELECT t.n FROM u [ROWS 3], t [ROWS 3];", "u")
    assert [column.name for column in found.read] == ["k"]
    assert found.kept == ()


def test_a_null_that_meets_nothing_is_final_only_where_the_join_needs_it() -> None:
    on = "s.k = t.k AND t.ts BETWEEN s.ts AND s.ts + 5"
    assert set(source(f"SELECT s.note, t.n FROM s JOIN t ON {on};").not_null) == {"k", "ts"}
    assert source(f"SELECT s.note, t.n FROM s LEFT JOIN t ON {on};").not_null == ()


def test_rows_of_a_group_become_one_where_they_differ_in_nothing_that_is_asked() -> None:
    counted = "SELECT t.k, count(*) AS n FROM s, t WHERE s.k = t.k AND t.ts BETWEEN s.ts AND s.ts + 5 GROUP BY t.k;"
    single = "SELECT t.k, s.note FROM s, t WHERE s.k = t.k AND t.ts BETWEEN s.ts AND s.ts + 5;"
    assert source(counted).merge is not None
    assert source(single).merge is None
