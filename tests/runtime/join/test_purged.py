"""When the rule is asked, and what is noted of rows that left."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.join.purged import LEAST_ROWS, Asking, Patience, Purged, PurgeSchedule, together
from tests.runtime.driving import plan_of

PLAIN = (
    "CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT, n BIGINT);"
    "SELECT {} s.n, t.n AS tn FROM s{}, t{} WHERE s.k = t.k;"
)


def schedule(patience: Patience, hint: str = "", window: str = "") -> PurgeSchedule:
    return PurgeSchedule(plan_of(PLAIN.format(hint, window, window)), patience)


def test_eager_asks_each_time_of_what_changed() -> None:
    eager = schedule(Patience.EAGER)
    assert eager.asking(0) is Asking.CHANGED
    assert eager.asking(10**9) is Asking.CHANGED


def test_lazy_asks_of_all_once_the_rows_have_grown_by_half() -> None:
    lazy = schedule(Patience.LAZY)
    assert lazy.asking(LEAST_ROWS - 1) is Asking.NONE
    assert lazy.asking(LEAST_ROWS) is Asking.ALL
    lazy.asked(Asking.ALL, 20_000)
    assert lazy.asking(29_999) is Asking.NONE
    assert lazy.asking(30_000) is Asking.ALL


def test_what_was_not_asked_is_owed_when_the_setting_changes() -> None:
    eager = schedule(Patience.EAGER)
    eager.asked(Asking.NONE, 5)
    assert eager.asking(5) is Asking.ALL
    eager.asked(Asking.ALL, 5)
    assert eager.asking(5) is Asking.CHANGED


@pytest.mark.parametrize(("hint", "window"), [("/*+ BUDGET(9 ROWS) */", ""), ("", " [ROWS 3]")])
def test_a_bound_in_rows_is_kept_by_asking_eagerly(hint: str, window: str) -> None:
    assert schedule(Patience.LAZY, hint, window).asking(1) is Asking.CHANGED


def test_rows_that_left_are_told_apart_by_their_rule() -> None:
    purged = Purged()
    for rule, ids in (("dead", [1, 2]), ("out of [ROWS]", [3]), ("merged", [4]), ("expanded", [5]), ("dead", [])):
        purged.add("s", rule, np.array(ids, np.int64))
    assert purged.counts == {"dead": 2, "out of [ROWS]": 1, "merged": 1, "expanded": 1}
    assert purged.of("s").tolist() == [1, 2, 3, 4, 5]
    assert purged.by_promises("s").tolist() == [1, 2, 5]
    assert together(purged.otherwise["s"]).tolist() == [3, 4, 5]
    assert purged.of("t").tolist() == []
