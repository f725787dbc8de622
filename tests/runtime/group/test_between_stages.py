"""Between the stages: equal rows to one bucket, the least frontier once all have spoken, types that all agree on."""

from __future__ import annotations

import pyarrow as pa

from penstock.plan.aggregate import AggregateColumn
from penstock.runtime.group.between_stages import answer_columns, deal, final_type, together, typed
from tests.runtime.driving import plan_of


def test_equal_rows_go_to_one_bucket_and_none_is_lost() -> None:
    table = pa.table({"a": [1, 2, 1, None, None, 3], "b": ["x", "y", "x", None, None, "z"]})
    where: dict[tuple[object, ...], set[int]] = {}
    rows = 0
    for bucket, part in deal(table, 4, None):
        rows += part.num_rows
        for row in zip(*(c.to_pylist() for c in part.columns), strict=True):
            where.setdefault(row, set()).add(bucket)
    assert rows == 6
    assert all(len(buckets) == 1 for buckets in where.values())


def test_rows_are_dealt_by_the_columns_of_their_group() -> None:
    table = pa.table({"a": [1, 1, 1, 1], "b": [1, 2, 3, 4]})
    assert [part.num_rows for _, part in deal(table, 8, ("a",))] == [4]
    assert [bucket for bucket, _ in deal(table, 8, ())] == [0]
    assert list(deal(table.slice(0, 0), 8, ("a",))) == []


def test_time_has_come_as_far_as_the_least_cell_once_all_have_spoken() -> None:
    frontier, reports = together([{"a": 5, "b": 1}, {"a": 3}], {}, 2)
    assert frontier == {"a": 3}
    assert reports.complete
    silent, reports = together([{"a": 5}], {}, 2)
    assert silent == {}
    assert not reports.complete


def test_a_cell_that_has_seen_no_row_takes_the_types_of_the_others() -> None:
    found = typed(pa.table({"a": pa.nulls(2), "b": [1, 2]}), pa.schema([("a", pa.string()), ("b", pa.int64())]))
    assert found.schema.field("a").type == pa.string()


def test_the_declared_types_of_what_is_handed_on() -> None:
    plan = plan_of(
        "CREATE STREAM a (g STRING, x INT, y DOUBLE);"
        "SELECT a.g, count(*) AS n, sum(a.x) AS s, min(a.y) AS m FROM a [ROWS 5] GROUP BY a.g;"
    )
    kinds = [kind for _, kind in answer_columns(plan)]
    assert kinds[0] == "STRING"
    assert set(kinds[1:]) <= {"BIGINT", "DOUBLE"}


def test_the_type_of_an_aggregate() -> None:
    def column(function: str, kind: str | None) -> AggregateColumn:
        return AggregateColumn("c", function, function, False, None, None, None, kind)

    assert final_type(column("count", None)) == "BIGINT"
    assert final_type(column("median", "INT")) == "DOUBLE"
    assert final_type(column("max", "STRING")) == "STRING"
    assert final_type(column("sum", "DECIMAL(5,1)")) == "DECIMAL(15,1)"
