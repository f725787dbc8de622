"""The table of values that promises close: each once, NULL never, none that is excepted; forgotten the eldest first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.match.key_matching import Keyed
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.state.synopsis import ALL
from tests.runtime.stored import stored

VALUES = st.lists(st.none() | st.integers(0, 4) | st.sampled_from([2**63 - 1, -(2**63)]), max_size=8)


def arrive(table: ValueTable, values: list[int | None], batch: int, *, again: bool = False) -> None:
    columns = pa.table({"k": pa.array(values, pa.int64())})
    table.arrive(columns, np.arange(len(values)), batch, again=again)


def held(table: ValueTable) -> list[int]:
    return table.rows.arrow("k", table.rows.ids(ALL)).to_pylist() if table.rows.live else []


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_each_value_is_held_once_and_null_never(batches: list[list[int | None]]) -> None:
    table = ValueTable(("k",))
    for number, values in enumerate(batches):
        if values:
            arrive(table, values, number)
            table.rows.finish()
    assert sorted(held(table)) == sorted({v for values in batches for v in values if v is not None})


def test_a_value_comes_again_only_if_that_is_said() -> None:
    table = ValueTable(("k",))
    arrive(table, [1], 0)
    table.rows.finish()
    arrive(table, [1, 1], 1, again=True)
    assert held(table) == [1, 1, 1]


def excepting(table: ValueTable, values: list[int]) -> None:
    broken = stored({"k": values})
    table.end({}, Keyed(broken, ("k",)), broken.ids(ALL), ())


def test_an_excepted_value_closes_nothing_from_then_on() -> None:
    table = ValueTable(("k",))
    arrive(table, [1, 2], 0)
    excepting(table, [2])
    assert held(table) == [1]
    table.rows.finish()
    arrive(table, [2, 3], 1)
    assert sorted(held(table)) == [1, 3]
    carriers = stored({"k": [1, 2, 3]})
    assert table.unexcepted(Keyed(carriers, ("k",)), carriers.ids(ALL)).tolist() == [0, 2]


def test_a_budget_forgets_the_eldest_first_and_then_gives_up() -> None:
    table = ValueTable(("k",))
    arrive(table, [1, 2, 3], 0)
    assert table.forget(2) == 2
    assert held(table) == [3]
    assert not table.given_up
    excepting(table, [9])
    assert table.forget(5) == 2
    assert table.given_up


def test_an_empty_table_forgets_nothing() -> None:
    table = ValueTable(("k",))
    assert table.forget(3) == 0
    assert not table.given_up
