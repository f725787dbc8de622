"""What cells give is dealt out to the second stage: each row to one bucket, its whole group to the same."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest

from penstock.plan.aggregate import SET, KeySet
from penstock.spark.dealer import Dealer

KEYS = (3, 5, 8)
ROWS = pa.table({"k": [1, 2, None, 1, 7, 9, 11, 2], "n": [10, 20, 30, 40, 50, 60, 70, 80]})


def dealt(dealer: Dealer, rows: pa.Table = ROWS) -> list[tuple[int, int | None, int]]:
    return [(key, row["k"], row["n"]) for key, part in dealer.rows(rows) for row in part.to_pylist()]


@pytest.mark.parametrize("groups", [None, ("k",)])
def test_each_row_goes_to_one_bucket(groups: tuple[str, ...] | None) -> None:
    found = dealt(Dealer(KEYS, groups))
    assert sorted(n for _, _, n in found) == ROWS["n"].to_pylist()
    assert {key for key, _, _ in found} <= set(KEYS)


def test_a_group_is_whole_in_its_bucket() -> None:
    buckets = defaultdict(set)
    for key, k, _ in dealt(Dealer(KEYS, ("k",))):
        buckets[k].add(key)
    assert {k: len(keys) for k, keys in buckets.items()} == dict.fromkeys([1, 2, None, 7, 9, 11], 1)


def test_the_one_group_of_all_is_the_first_buckets() -> None:
    assert {key for key, _, _ in dealt(Dealer(KEYS, ()))} == {3}


def test_of_several_sets_of_keys_each_row_is_in_a_group_of_each() -> None:
    sets = (KeySet(("g",), ("k",)), KeySet(("g",), (None,)))
    found = [row for _, part in Dealer(KEYS, ("g", SET), sets).rows(ROWS) for row in part.to_pylist()]
    assert sorted((row["n"], row[SET]) for row in found) == [
        (n, number) for n in ROWS["n"].to_pylist() for number in (0, 1)
    ]


def test_a_type_that_a_cell_has_not_seen_is_that_of_the_schema() -> None:
    empty = pa.table({"k": pa.nulls(2), "n": pa.array([1, 2])})
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    assert {part.schema.field("k").type for _, part in Dealer(KEYS, ("k",), schema=schema).rows(empty)} == {pa.string()}


def test_nothing_is_dealt_of_no_rows() -> None:
    assert dealt(Dealer(KEYS, ("k",)), ROWS.slice(0, 0)) == []


def test_what_is_for_none_of_them_goes_to_each_in_turn() -> None:
    assert [Dealer(KEYS).in_turn(number) for number in range(4)] == [3, 5, 8, 3]
