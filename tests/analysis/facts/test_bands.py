"""Bands, and their oracle: the tightest limit found by trying every assignment of small event times.

Differences do not change when all times shift, so the first source stands at 0 and the others take every value of a
range. Single limits lie between -2 and 1, and a path has at most three steps. So a limit is at most 3, and times that
are forced apart lie at most 6 from 0; the range reaches so far that a difference without a limit still exceeds 3.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.facts.bands import Bands
from penstock.analysis.facts.together import Facts
from penstock.model.clauses import RangeWindow
from penstock.model.query import Query
from penstock.model.relation import Join, JoinKind, Leaf
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, PrimaryKey
from penstock.model.spans import Window
from tests.analysis.build import number_of, outer, query, recent, ref, seconds, source, stream, where
from tests.analysis.reference import Arrival, Evaluator, holds, in_windows

LONGEST = 3
EDGE = 10
COLUMNS = "n BIGINT, x BIGINT"
VARIABLES = ("a.n", "b.n", "c.n", "a.x")


@st.composite
def banded_queries(draw: st.DrawFn) -> Query:
    sources = [
        source(stream(name, COLUMNS, time="n"), window=draw(st.sampled_from([None, RangeWindow(number_of(2))])))
        for name in "abc"
    ]
    texts = []
    for _ in range(draw(st.integers(0, 5))):
        left, right = draw(st.permutations(VARIABLES))[:2]
        op = draw(st.sampled_from(["<", "<=", "=", ">", ">="]))
        shift = draw(st.sampled_from(["", " + 1", " - 1"]))
        texts.append(f"{left} {op} {right}{shift}")
    return query(sources, *dict.fromkeys(texts))


def _assignments(of: Query) -> list[dict[str, int]]:
    """Every small assignment that satisfies the conditions and the windows."""
    found = []
    reach = range(-EDGE, EDGE + 1)
    for b, c, x in product(reach, reach, reach):
        values = {"a.n": 0, "b.n": b, "c.n": c, "a.x": x}
        combined: dict[str, Arrival | None] = {
            alias: Arrival(alias, 0, (("n", values[f"{alias}.n"]), ("x", values["a.x"]))) for alias in "abc"
        }
        if all(holds(p, combined) for p in of.where) and in_windows(of, combined):
            found.append(values)
    return found


@settings(max_examples=25, deadline=None)
@given(banded_queries())
def test_the_closed_bands_are_the_tightest_that_brute_force_finds(of: Query) -> None:
    bands = Facts(of).of().bands
    assignments = _assignments(of)
    assert bool(bands.contradiction) == (not assignments)
    if not assignments:
        return
    for later, earlier in product(VARIABLES, VARIABLES):
        widest = max(values[later] - values[earlier] for values in assignments)
        limit = bands.upper(ref(later), ref(earlier))
        if later == earlier:
            continue
        if limit is None:
            assert widest > LONGEST
        else:
            assert (limit.ticks, limit.strict) == (widest, False)


def _bands(of: Query, *together: str) -> Bands:
    return Facts(of).of(*together).bands


A = stream("a", "k BIGINT, ts TIMESTAMP", time="ts")
B = stream("b", "k BIGINT, ts TIMESTAMP", time="ts")


def test_a_strict_condition_on_timestamps_stays_strict() -> None:
    limit = _bands(query([source(A), source(B)], "b.ts < a.ts + 5 seconds")).upper(ref("b.ts"), ref("a.ts"))
    assert limit is not None
    assert (limit.ticks, limit.strict) == (5_000_000, True)


def test_dates_are_a_whole_number_of_days_apart() -> None:
    days = [stream(name, "d DATE", time="d") for name in "ab"]
    limit = _bands(query([source(s) for s in days], "b.d < a.d + 90000 seconds")).upper(ref("b.d"), ref("a.d"))
    assert limit is not None
    assert (limit.ticks, limit.strict) == (86_400_000_000, False)


def test_a_range_window_limits_how_much_later_every_other_stream_may_be() -> None:
    of = query([source(A, window=recent(5)), source(B)])
    assert _bands(of).upper(ref("a.ts"), ref("b.ts")) is None
    limit = _bands(of).upper(ref("b.ts"), ref("a.ts"))
    assert limit is not None
    assert (limit.ticks, limit.strict) == (5_000_000, True)


@pytest.mark.parametrize(
    ("scheme", "later", "earlier"),
    [
        (Cooccurs(("k",), "b", ("k",), Window(seconds(-1), seconds(2))), 2_000_000, 1_000_000),
        (Follows("b", ("k",), ("k",), seconds(2)), 2_000_000, None),
        (ForeignKey(("k",), "b", ("k",), Window(seconds(-1), seconds(2))), 2_000_000, 1_000_000),
    ],
)
def test_a_promise_about_matches_is_a_band_once_its_columns_are_tied(
    scheme: Cooccurs | Follows | ForeignKey, later: int, earlier: int | None
) -> None:
    own = stream("a", "k BIGINT, ts TIMESTAMP", scheme, time="ts")
    other = stream("b", "k BIGINT, ts TIMESTAMP", PrimaryKey(("k",)), time="ts")
    tied, loose = query([source(own), source(other)], "a.k = b.k"), query([source(own), source(other)])
    found = [_bands(tied).upper(ref("b.ts"), ref("a.ts")), _bands(tied).upper(ref("a.ts"), ref("b.ts"))]
    assert [limit.ticks if limit else None for limit in found] == [later, earlier]
    assert _bands(loose).upper(ref("b.ts"), ref("a.ts")) is None


def test_a_foreign_key_window_says_nothing_of_the_other_matches_where_the_partner_is_not_unique() -> None:
    own = stream("a", "k BIGINT, ts TIMESTAMP", ForeignKey(("k",), "b", ("k",), Window(None, seconds(2))), time="ts")
    assert _bands(query([source(own), source(B)], "a.k = b.k")).upper(ref("b.ts"), ref("a.ts")) is None


def test_a_promise_between_a_stream_and_itself_holds_for_both_orders_of_a_self_join() -> None:
    own = stream("a", "k BIGINT, ts TIMESTAMP", Follows("a", ("k",), ("k",), seconds(2)), time="ts")
    bands = _bands(query([source(own, "x"), source(own, "y")], "x.k = y.k"))
    assert bands.upper(ref("x.ts"), ref("y.ts")) is not None
    assert bands.upper(ref("y.ts"), ref("x.ts")) is not None


def test_the_on_of_an_outer_join_is_a_band_only_where_the_two_stand_together() -> None:
    of = query([source(A), source(B)], tree=outer(JoinKind.LEFT, "a", "b", "b.ts <= a.ts + 5 seconds"))
    assert not Facts(of).of("a").bands.constraints
    assert _bands(of, "a", "b").upper(ref("b.ts"), ref("a.ts")) is not None


def test_a_window_does_not_decide_a_match_made_below_in_an_outer_join() -> None:
    third = stream("c", "k BIGINT, ts TIMESTAMP", time="ts")
    below = outer(JoinKind.LEFT, "a", "b", "a.k = b.k")
    tree = Join(JoinKind.INNER, below, Leaf("c"), (where("a.k = c.k"),))
    of = query([source(A), source(B), source(third, window=recent(5))], tree=tree)
    assert _bands(of, "b", "c").upper(ref("b.ts"), ref("c.ts")) is None
    assert _bands(of, "a", "c").upper(ref("a.ts"), ref("c.ts")) is not None


def test_times_that_contradict_each_other_leave_no_result() -> None:
    of = query([source(A), source(B)], "b.ts < a.ts", "a.ts < b.ts")
    assert Facts(of).of().impossible
    rows = [Arrival("a", 0, (("k", 1), ("ts", 5))), Arrival("b", 1, (("k", 1), ("ts", 5)))]
    assert not Evaluator(of, rows).answer()
