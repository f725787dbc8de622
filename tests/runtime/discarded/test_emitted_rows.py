"""What was emitted, and whether it stands. In whole queries: `test_late_matches.py`, `test_broken_outer.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.runtime.discarded.emitted_rows import EmittedRows, among
from penstock.runtime.state.component import State
from tests.runtime.driving import plan_of
from tests.runtime.stored import stored

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER);"
JOINED = "SELECT r.k FROM r LEFT JOIN s ON s.k = r.k LEFT JOIN t ON t.k = r.k;"
EXISTS = (
    "SELECT r.k FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k) AND EXISTS (SELECT 1 FROM t WHERE t.k = r.k);"
)
UNMATCHED, MATCHED = [4, -1, 7], [5, 6, 7]


def rows(*named: list[int]) -> Any:
    return np.array(named, np.int64)


def emitted(select: str = JOINED) -> EmittedRows:
    return EmittedRows(plan_of("".join(map(STREAM.format, "rst")) + select))


def standing(log: EmittedRows, answer: Any, **old: list[int]) -> list[list[int]]:
    places = {alias: np.array(old.get(alias, []), np.int64) for alias in "rst"}
    return log.standing(answer, {**places, "s": np.append(places["s"], 6)}, places).tolist()  # type: ignore[no-any-return]


def test_a_row_stands_until_it_is_contradicted_and_again_once_it_is_emitted_anew() -> None:
    log = emitted()
    for weight, stands in ((1, True), (-1, False), (1, True)):
        log.note(rows(UNMATCHED), weight)
        assert standing(log, rows(MATCHED), r=[4], t=[7]) == ([UNMATCHED] if stands else [])
    assert standing(log, rows(MATCHED), r=[3]) == []


def test_a_match_is_not_noted_and_stands_iff_its_tuples_are_old() -> None:
    log = emitted()
    log.note(rows(MATCHED), 1)
    assert log.log.rows == 0
    assert standing(log, rows(MATCHED), r=[5], s=[6], t=[7]) == [MATCHED]
    assert standing(log, rows(MATCHED), r=[5], t=[7]) == []


def test_where_exists_decides_every_row_is_noted() -> None:
    log = emitted(EXISTS)
    log.note(rows([5]), 1)
    assert log.log.rows == 1
    assert standing(log, rows([5], [8]), r=[5, 8]) == [[5]]


def test_a_row_that_stands_and_waits_anew_is_not_emitted_twice() -> None:
    log = emitted()
    synopses = {alias: stored({"k": list(range(9))}) for alias in "rst"}
    log.settle({alias: np.arange(9) for alias in "rst"}, rows(UNMATCHED))
    given = {alias: np.array([n, n]) for alias, n in zip("rst", UNMATCHED, strict=True)}
    given["t"] = np.array([7, 8])
    assert log.emit(given, synopses)["t"].tolist() == [8]
    assert log.pending is None


@pytest.mark.parametrize("with_pending", [False, True])
def test_it_is_there_after_a_restart(with_pending: bool) -> None:
    log = emitted()
    log.note(rows(UNMATCHED), 1)
    if with_pending:
        log.settle({alias: np.arange(9) for alias in "rst"}, rows(UNMATCHED, MATCHED))
    changes = State(log).save()
    after = emitted()
    State(after).load(changes.put)
    assert standing(after, rows(MATCHED), r=[4]) == [UNMATCHED]
    assert after.pending is None if not with_pending else after.pending.tolist() == [UNMATCHED, MATCHED]


def test_which_rows_are_among_others() -> None:
    assert among(rows([1, 2], [3, 4]), rows([3, 4], [2, 1])).tolist() == [False, True]
    assert among(rows([1, 2]), np.empty((0, 2), np.int64)).tolist() == [False]
