"""Who came first across streams is asked only where an answer counts rows, and known only by ARRIVES BY."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.query import Query
from penstock.plan.order_across_streams import by_arrival, counts_by_arrival, counts_rows, uncomparable_arrivals


def _query(
    arrives: tuple[str, str], select: str, kinds: tuple[str, str] = ("BIGINT", "BIGINT"), more: str = ""
) -> Query:
    streams = [
        f"CREATE STREAM {name} (k BIGINT, seq {kind}{arrival}{more if name == 'b' else ''});"
        for name, kind, arrival in zip("ab", kinds, arrives, strict=True)
    ]
    return penstock.parse(f"{' '.join(streams)} SELECT a.k FROM {select};").queries[0]


ARRIVES = ", ARRIVES BY seq"


@pytest.mark.parametrize(
    ("arrives", "select", "more", "told"),
    [
        ((ARRIVES, ARRIVES), "a, b WHERE a.k = b.k", "", (True, False)),
        ((ARRIVES, ARRIVES), "a [ROWS 3], b WHERE a.k = b.k", "", (True, True)),
        ((ARRIVES, ""), "a [ROWS 3], b WHERE a.k = b.k", "", (False, True)),
        ((ARRIVES, ARRIVES), "a, b WHERE a.k = b.k", ", FOLLOWS a (k) ON (k) WITHIN 2 ROWS", (True, True)),
    ],
)
def test_rows_are_counted_in_the_order_that_all_streams_declare(
    arrives: tuple[str, str], select: str, more: str, told: tuple[bool, bool]
) -> None:
    query = _query(arrives, select, more=more)
    assert (by_arrival(query), counts_rows(query)) == told
    assert counts_by_arrival(query) == all(told)


def test_arrivals_of_different_kinds_are_named() -> None:
    select = "a [ROWS 3], b WHERE a.k = b.k"
    assert uncomparable_arrivals(_query((ARRIVES, ARRIVES), select)) is None
    found = uncomparable_arrivals(_query((ARRIVES, ARRIVES), select, ("BIGINT", "STRING")))
    assert found is not None
    assert "STRING" in found
