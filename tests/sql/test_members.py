"""What IN compares: which conditions it becomes, and where NULL may be among them."""

from __future__ import annotations

import pytest

from penstock.analysis.check import check_query
from penstock.compile import parse
from penstock.errors import PenstockError
from penstock.sql import print_script
from tests.whole_queries.grammar import DECLARED

_NEAR = "b.ts BETWEEN a.ts AND a.ts + 3"


def _asked(text: str) -> list[list[str]]:
    script = parse(f"{DECLARED}\n{text};")
    assert parse(print_script(script)) == script
    (query,) = script.queries
    assert check_query(query).verdict == "bounded"
    return [[str(p) for p in existence.condition] for existence in query.existences]


def test_pairs_are_asked_by_keys_in_each_choice_of_nulls() -> None:
    found = _asked(f"SELECT a.id FROM a WHERE (a.ts, a.k) NOT IN (SELECT b.ts, b.k FROM b WHERE {_NEAR})")
    assert [[text for text in one if ".k" in text] for one in found] == [
        ["a.k = b.k"],
        ["a.k IS NULL", "a.k = b_2.k OR a.k IS NULL OR b_2.k IS NULL"],
        ["b_3.k IS NULL", "a.k = b_3.k OR a.k IS NULL OR b_3.k IS NULL"],
    ]


def test_several_columns_are_asked_by_keys_and_for_a_null_on_either_side() -> None:
    where = "(a.id, a.k, a.v) NOT IN (SELECT b.id, b.k, b.v FROM b WHERE"
    keys, outside, inside = _asked(f"SELECT a.id FROM a WHERE {where} {_NEAR})")
    assert {"a.id = b.id", "a.k = b.k", "a.v = b.v"} < set(keys)
    assert "a.id IS NULL OR a.k IS NULL OR a.v IS NULL" in outside
    assert "b_3.id IS NULL OR b_3.k IS NULL OR b_3.v IS NULL" in inside
    assert "a.k = b_3.k OR a.k IS NULL OR b_3.k IS NULL" in inside


def test_a_pair_that_is_never_null_ties() -> None:
    assert len(_asked("SELECT a.id FROM a WHERE (a.ts, a.k) NOT IN (SELECT b.ts, b.k FROM b)")) == 3


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id FROM a WHERE (a.id, a.k) NOT IN (SELECT b.id, b.k FROM b)",
        "SELECT a.id IN (SELECT b.id FROM b) AS known FROM a",
        f"SELECT a.id FROM a LEFT JOIN c ON a.k = c.k AND c.ts = a.ts WHERE (c.k, c.v) NOT IN (SELECT b.k, b.v FROM b "
        f"WHERE {_NEAR})",
        f"SELECT a.id FROM a WHERE nullif(rand(), a.id) NOT IN (SELECT b.id FROM b WHERE {_NEAR})",
    ],
)
def test_what_a_null_would_decide_for_all_rows_is_refused(text: str) -> None:
    with pytest.raises(PenstockError, match="may be NULL"):
        parse(f"{DECLARED}\n{text};")
