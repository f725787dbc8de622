"""A bare NULL among the columns of a UNION has the type that the others have in its place, as in Spark."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.errors import PenstockError

_STREAMS = (
    "CREATE STREAM a (k BIGINT, x INT, ts TIMESTAMP, EVENT TIME ts); "
    "CREATE STREAM b (k BIGINT, y DECIMAL(5,1), place STRUCT<x: INT>, ts TIMESTAMP, EVENT TIME ts);"
)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT k, NULL AS v FROM a UNION ALL SELECT k, y FROM b", ["BIGINT", "DECIMAL(5,1)"]),
        ("SELECT k, x AS v FROM a UNION SELECT k, NULL FROM b", ["BIGINT", "INT"]),
        ("SELECT x FROM a UNION ALL SELECT NULL FROM b UNION ALL SELECT k FROM b", ["BIGINT"]),
        ("SELECT k, NULL AS p FROM a UNION ALL SELECT k, place FROM b", ["BIGINT", "STRUCT<x: INT>"]),
    ],
)
def test_a_null_has_the_type_of_the_others(text: str, types: list[str]) -> None:
    (query,) = parse(f"{_STREAMS} {text};").queries
    assert [str(column.type) for column in query.sources[0].stream.columns] == types


def test_a_null_in_all_of_them_asks_for_a_cast() -> None:
    with pytest.raises(PenstockError, match="is not known without Spark"):
        parse(f"{_STREAMS} SELECT k, NULL AS v FROM a UNION ALL SELECT k, NULL FROM b;")
