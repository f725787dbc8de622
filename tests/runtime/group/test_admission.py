"""Who is taken in where there is little room: the first that fit, and whoever needs no more room."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.group.admission import admit
from penstock.runtime.group.tally import Tally


def known(*keys: int) -> Tally:
    one = Tally(("g",), ())
    if keys:
        one.add(0, {"g": pa.array(keys)}, {})
    return one


@given(st.sets(st.integers(0, 5)), st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 6))
def test_a_new_key_needs_room_and_a_known_one_does_not(stored: set[int], rows: list[int], room: int) -> None:
    tally = known(*stored)
    taken = admit([(tally, ("g",))], {"g": pa.array(rows)}, room, in_bytes=False)
    there, left, is_full, wanted = set(stored), room, False, []
    for key in rows:
        if key not in there and not is_full:
            is_full = left == 0
            if not is_full:
                there.add(key)
                left -= 1
        wanted.append(key in there)
    assert taken.tolist() == wanted


def test_in_bytes_the_room_is_held() -> None:
    rows = pa.array([str(n) * 100 for n in range(10)])
    tally = Tally(("g",), ())
    taken = admit([(tally, ("g",))], {"g": rows}, 1000, in_bytes=True)
    assert 0 < np.count_nonzero(taken) < 10
    assert int(tally.most_bytes({"g": rows.filter(pa.array(taken))}).sum()) <= 1000


def test_no_room_at_all_takes_only_what_is_known() -> None:
    taken = admit([(known(7), ("g",))], {"g": pa.array([7, 8, 7])}, 0, in_bytes=False)
    assert taken.tolist() == [True, False, True]
