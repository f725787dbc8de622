"""Values of tables within queries over tables: Spark evaluates these as a whole, with a place for every table."""

from __future__ import annotations

import pytest

from penstock.errors import ScriptErrors
from penstock.model.stream import TableJoin, TableQuery
from penstock.sql import parse_script

_DECLARED = """CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE TABLE t (k BIGINT, n INT) USING parquet OPTIONS (path 't');
CREATE TABLE u (k BIGINT) USING parquet OPTIONS (path 'u');
"""


def _table(query: str) -> tuple[str, list[str]]:
    (read,) = parse_script(f"{_DECLARED}SELECT s.k FROM s JOIN ({query}) AS x ON x.k = s.k").queries
    (join,) = read.sources[0].stream.tables
    assert isinstance(join, TableJoin)
    assert isinstance(join.storage, TableQuery)
    return join.storage.text, [table.name for table in join.storage.tables]


def test_a_value_of_tables_stands_in_a_query_over_tables() -> None:
    text, tables = _table("SELECT k FROM t WHERE n > (SELECT avg(n) FROM t WHERE k IN (SELECT k FROM u))")
    assert text == (
        "SELECT k FROM {t0} AS t WHERE n > (SELECT avg(n) FROM {t0} AS t WHERE k IN (SELECT k FROM {t1} AS u))"
    )
    assert tables == ["t", "u"]


def test_there_not_in_may_compare_null() -> None:
    assert _table("SELECT k FROM t WHERE k NOT IN (SELECT k FROM u) OR n = 1")[1] == ["t", "u"]


def test_what_may_give_several_values_is_none() -> None:
    with pytest.raises(ScriptErrors, match="not known to give one value"):
        _table("SELECT k FROM t WHERE n > (SELECT n FROM t)")
