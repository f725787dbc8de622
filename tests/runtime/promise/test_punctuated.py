"""Punctuations case by case: what they close and when, when they go themselves, and what breaks them.

In these scripts a row with a negative n is a punctuation.
"""

from __future__ import annotations

import pytest

from penstock.runtime import PromiseBroken
from tests.runtime.driving import Driver, plan_of, rows_of

FIELDS = "k BIGINT, m BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"
ON_K = "PUNCTUATED ON (k) WHEN n < 0"
ON_M = "PUNCTUATED ON (m) WHEN n < 0"
ON_KM = "PUNCTUATED ON (k, m) WHEN n < 0"


def drive(query: str, **declared: str) -> Driver:
    streams = "".join(f"CREATE STREAM {name} ({FIELDS}{d and ', ' + d}); " for name, d in declared.items())
    return Driver(f"{streams} SELECT {', '.join(f'{a}.n AS {a}n' for a in declared)} {query};", "k m ts n")


def both(on_s: str = ON_K, on_t: str = ON_K) -> Driver:
    return drive("FROM s, t WHERE s.k = t.k", s=on_s, t=on_t)


def test_a_punctuation_after_the_data_lets_its_partners_go() -> None:
    driver = both()
    driver.step(s=[(1, 0, 0, 10), (2, 0, 0, 11)], t=[(1, 0, 0, 20)])
    result = driver.step(t=[(1, 0, 0, -1)])
    assert driver.stored("s") == 1
    assert driver.stored("t") == 1, "s may still bring a 1"
    assert result.metrics.rows_in == {"s": 0, "t": 0}, "a punctuation is no data"
    assert result.metrics.promise_rows == 1


def test_a_punctuation_before_the_data_closes_what_comes_later() -> None:
    driver = both()
    driver.step(t=[(1, 0, 0, 20), (1, 0, 0, -1)])
    assert rows_of(driver.step(s=[(1, 0, 0, 10), (2, 0, 0, 11)])) == [(10, 20)]
    assert driver.stored("s") == 1, "the 2 stays, the 1 met all it ever will"


def test_rows_and_punctuations_of_one_batch_join_first_and_purge_after() -> None:
    driver = both()
    result = driver.step(s=[(1, 0, 0, 10), (1, 0, 0, -1)], t=[(1, 0, 0, 20), (1, 0, 0, 21), (1, 0, 0, -1)])
    assert rows_of(result) == [(10, 20), (10, 21)]
    assert (driver.stored("s"), driver.stored("t"), result.metrics.promise_rows) == (0, 0, 0)


def test_two_punctuations_that_close_each_other_go_together() -> None:
    driver = both()
    assert driver.step(s=[(1, 0, 0, -1)]).metrics.promise_rows == 1
    assert driver.step(t=[(2, 0, 0, -1)]).metrics.promise_rows == 2
    assert driver.step(t=[(1, 0, 0, -1)]).metrics.promise_rows == 1
    assert driver.step(s=[(2, 0, 0, -1)]).metrics.promise_rows == 0


def test_a_punctuation_stays_while_a_neighbour_stores_its_value() -> None:
    driver = drive("FROM s, t, u WHERE s.k = t.k AND s.m = u.m", s=ON_K, t=ON_K, u=ON_M)
    driver.step(s=[(1, 5, 0, 10)])
    driver.step(s=[(1, 0, 0, -1)], t=[(1, 0, 0, -1)])
    assert driver.stored("s") == 0, "no t came: it is dead"
    driver = drive("FROM s, t, u WHERE s.k = t.k AND s.m = u.m", s=ON_K, t=ON_K, u=ON_M)
    driver.step(s=[(1, 5, 0, 10)], t=[(1, 0, 0, 20)])
    result = driver.step(s=[(1, 0, 0, -1)], t=[(1, 0, 0, -1)])
    assert (driver.stored("s"), driver.stored("t"), result.metrics.promise_rows) == (1, 1, 2), "u is open for s"
    result = driver.step(u=[(0, 5, 0, 30), (0, 5, 0, -1)])
    assert rows_of(result) == [(10, 20, 30)]
    assert (driver.stored("s"), driver.stored("t")) == (0, 0)
    assert result.metrics.promise_rows == 1, "only what closes u: nothing closes s.m"


def test_the_same_punctuation_twice_is_held_once() -> None:
    driver = both()
    assert driver.step(t=[(1, 0, 0, -1), (1, 0, 0, -2)]).metrics.promise_rows == 1
    assert driver.step(t=[(1, 0, 0, -1)]).metrics.promise_rows == 1


def test_a_key_that_arrived_lets_the_punctuation_go_that_closed_its_item() -> None:
    # Items and bids: an item leaves when its bids are closed, a bid when its item has come.
    driver = both(on_s="PRIMARY KEY (k)", on_t=ON_K)
    driver.step(s=[(1, 0, 0, 10)], t=[(1, 0, 0, 20)])
    assert driver.stored("t") == 0
    result = driver.step(t=[(1, 0, 0, 21), (1, 0, 0, -1)])
    assert rows_of(result) == [(10, 21)]
    assert (driver.stored("s"), driver.stored("t"), result.metrics.promise_rows) == (0, 0, 0)


def test_keys_that_a_filter_dropped_let_punctuations_go_too() -> None:
    driver = Driver(
        f"CREATE STREAM s ({FIELDS}, PRIMARY KEY (k)); CREATE STREAM t ({FIELDS}, {ON_K}, FOLLOWS s (k) ON (k));"
        "SELECT s.n FROM s, t WHERE s.k = t.k AND s.m = 7;",
        "k m ts n",
    )
    driver.step(s=[(1, 0, 0, 10), (2, 7, 0, 11)])
    assert driver.stored("s") == 1
    assert driver.step(t=[(1, 0, 0, -1), (2, 0, 0, -1)]).metrics.promise_rows == 0
    assert driver.stored("s") == 0


def test_an_ordered_column_that_has_passed_lets_a_punctuation_go() -> None:
    driver = both(on_s="ORDERED BY k", on_t=ON_K)
    driver.step(s=[(1, 0, 0, 10)])
    assert driver.step(t=[(1, 0, 0, -1), (5, 0, 0, -1)]).metrics.promise_rows == 2
    assert driver.step(s=[(3, 0, 0, 11)]).metrics.promise_rows == 1


def test_several_attributes_close_together_only() -> None:
    driver = drive("FROM s, t WHERE s.k = t.k AND s.m = t.m", s="", t=ON_KM)
    driver.step(s=[(1, 1, 0, 10), (1, 2, 0, 11)])
    driver.step(t=[(1, 2, 0, -1)])
    assert driver.stored("s") == 1
    driver.step(t=[(2, 1, 0, -1)])
    assert driver.stored("s") == 1


def test_a_scheme_with_a_column_in_no_predicate_closes_nothing_and_is_dropped() -> None:
    driver = both(on_t=ON_KM)
    assert [p.constraint for p in driver.plan.promises] == [f"{ON_K} ON s"]
    result = driver.step(s=[(1, 0, 0, 10)], t=[(1, 0, 0, -1)])
    assert (driver.stored("s"), result.metrics.promise_rows) == (1, 0)
    assert result.metrics.rows_in == {"s": 1, "t": 0}, "it is no data all the same"


def test_a_filter_that_fixes_the_other_column_makes_it_close() -> None:
    query = "FROM s, t WHERE s.k = t.k AND t.m = 3"
    plan = drive(query, s="", t=ON_KM).plan
    (promise,) = plan.promises
    assert (promise.columns, promise.when) == (("k",), "(n < 0) AND t.m = 3")


# SAFETY, figure 8: S1(A, B), S2(B, C), S3(C, A), with S3 punctuated on both its columns at once.
FIGURE_8 = "FROM s1, s2, s3 WHERE s1.m = s2.k AND s2.m = s3.k AND s3.m = s1.k"


def test_safety_section_4_2_a_tuple_goes_when_the_pairs_that_it_makes_are_closed() -> None:
    driver = drive(FIGURE_8, s1=ON_M, s2=ON_K, s3=ON_KM)
    assert [c.target_columns for c in driver.plan.joint_closers] == [("k", "m")]
    a, b, c, d = 1, 2, 3, 4
    driver.step(s1=[(a, b, 0, 10)], s2=[(b, c, 0, 20), (b, d, 0, 21)])
    driver.step(s2=[(b, 0, 0, -1)])
    assert driver.stored("s1") == 1, "s3 may still bring (c, a) or (d, a)"
    driver.step(s3=[(c, a, 0, -1)])
    assert driver.stored("s1") == 1
    result = driver.step(s3=[(d, a, 0, 30), (d, a, 0, -1)])
    assert rows_of(result) == [(10, 21, 30)]
    assert driver.stored("s1") == 0


def test_safety_figure_5_single_attributes_around_a_cycle() -> None:
    driver = drive(
        "FROM s1, s2, s3 WHERE s1.m = s2.k AND s2.m = s3.k AND s3.m = s1.k",
        s1=ON_M,
        s2=ON_M,
        s3="PUNCTUATED ON (m) WHEN n < 0",
    )
    # (a, b) of s1 goes by way of s3 on A, then s2 on C.
    driver.step(s1=[(1, 2, 0, 10)], s2=[(2, 3, 0, 20)], s3=[(3, 1, 0, 30)])
    driver.step(s3=[(0, 1, 0, -1)])
    assert driver.stored("s1") == 1
    driver.step(s2=[(0, 3, 0, -1)])
    assert driver.stored("s1") == 0


def test_null_in_a_column_promises_nothing_and_null_in_when_is_data() -> None:
    driver = both()
    driver.step(s=[(0, 0, 0, 10)])
    assert driver.step(t=[(None, 0, 0, -1)]).metrics.promise_rows == 0
    assert driver.stored("s") == 1
    assert driver.step(t=[(1, 0, 0, None)]).metrics.rows_in["t"] == 1


def test_a_row_that_satisfies_several_whens_makes_all_their_promises() -> None:
    driver = drive(
        "FROM s, t WHERE s.k = t.k AND s.m = t.m", s="", t="PUNCTUATED ON (k) WHEN n < 0, PUNCTUATED ON (m) WHEN n = -2"
    )
    driver.step(s=[(1, 5, 0, 10), (2, 6, 0, 11), (2, 7, 0, 12)])
    driver.step(t=[(1, 6, 0, -2)])
    assert driver.stored("s") == 1
    driver.step(t=[(9, 7, 0, -1)])
    assert driver.stored("s") == 1, "only WHEN n = -2 closes m"


ORDERED = "ORDERED BY ts"
MORTAL = f"{ON_K} LIFESPAN 10"


def test_lifespan_a_promise_holds_until_the_low_has_passed_it() -> None:
    driver = both(on_s="", on_t=f"{MORTAL}, {ORDERED}")
    assert driver.step(t=[(1, 0, 5, -1)]).metrics.promise_rows == 1
    assert driver.step(t=[(9, 0, 15, 20)]).metrics.promise_rows == 1
    driver.step(s=[(1, 0, 0, 10)])
    assert driver.stored("s") == 0
    assert driver.step(t=[(9, 0, 16, 21)]).metrics.promise_rows == 0
    result = driver.step(s=[(1, 0, 0, 11)])
    assert driver.stored("s") == 1, "the value may be used anew"
    result = driver.step(t=[(1, 0, 17, 22)])
    assert (rows_of(result), result.metrics.violations) == ([(11, 22)], {})


def test_lifespan_a_row_closed_while_the_promise_lived_stays_closed() -> None:
    driver = drive("FROM s, t, u WHERE s.k = t.k AND s.m = u.m", s="", t=f"{MORTAL}, {ORDERED}", u=ON_M)
    driver.step(s=[(1, 5, 0, 10)], t=[(1, 0, 5, 20), (1, 0, 5, -1)])
    assert driver.step(t=[(9, 0, 99, 21)]).metrics.promise_rows == 0
    driver.step(u=[(0, 5, 0, -1)])
    assert driver.stored("s") == 0


def test_lifespan_a_row_of_the_batch_in_which_it_ends_breaks_nothing() -> None:
    driver = both(on_s="", on_t=f"{MORTAL} ON VIOLATION FAIL, {ORDERED}")
    driver.step(t=[(1, 0, 5, -1)])
    assert driver.step(t=[(9, 0, 16, 20), (1, 0, 17, 21)]).metrics.violations == {}


def late(policy: str, *, in_one_batch: bool = False) -> tuple[Driver, object]:
    driver = drive("FROM s, t, u WHERE s.k = t.k AND s.m = u.m", s="", t=f"{ON_K} ON VIOLATION {policy}", u="")
    driver.step(s=[(1, 5, 0, 10)], u=[(0, 5, 0, 30)])
    if in_one_batch:
        return driver, driver.step(t=[(1, 0, 0, 20), (1, 0, 0, -1), (1, 0, 0, 21)])
    driver.step(t=[(1, 0, 0, 20), (1, 0, 0, -1)])
    return driver, driver.step(t=[(1, 0, 0, 21)])


@pytest.mark.parametrize("in_one_batch", [False, True])
def test_fail_stops_and_names_the_row_that_came_after_its_punctuation(in_one_batch: bool) -> None:
    with pytest.raises(PromiseBroken) as caught:
        late("FAIL", in_one_batch=in_one_batch)
    assert caught.value.constraint == f"{ON_K} ON t"
    assert caught.value.rows.to_pylist() == [{"k": 1, "n": 21}]


@pytest.mark.parametrize("in_one_batch", [False, True])
def test_quarantine_keeps_it_out_of_the_query(in_one_batch: bool) -> None:
    _, result = late("QUARANTINE", in_one_batch=in_one_batch)
    assert rows_of(result) == ([(10, 20, 30)] if in_one_batch else [])  # type: ignore[arg-type]
    (held,) = result.quarantined  # type: ignore[attr-defined]
    assert (held.constraint, held.alias, held.rows.column("n").to_pylist()) == (f"{ON_K} ON t", "t", [21])
    assert result.metrics.violations == {f"{ON_K} ON t": 1}  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", ["TRUST", "ADAPT"])
def test_trust_and_adapt_join_it_and_count_it(policy: str) -> None:
    driver, result = late(policy)
    assert rows_of(result) == [(10, 21, 30)]  # type: ignore[arg-type]
    assert result.metrics.violations == {f"{ON_K} ON t": 1}  # type: ignore[attr-defined]
    again = driver.step(t=[(1, 0, 0, 22)])
    assert again.metrics.violations == ({} if policy == "ADAPT" else {f"{ON_K} ON t": 1})


def test_under_adapt_a_value_that_was_violated_is_closed_no_more_and_the_others_are() -> None:
    driver = both(on_s="", on_t=ON_K)
    driver.step(t=[(1, 0, 0, 20), (1, 0, 0, -1), (1, 0, 0, 21)])
    driver.restart()
    assert rows_of(driver.step(s=[(1, 0, 0, 10), (2, 0, 0, 11)])) == [(10, 20), (10, 21)]
    assert driver.stored("s") == 2
    driver.step(t=[(1, 0, 0, -1), (2, 0, 0, -1)])
    assert driver.stored("s") == 1
    assert rows_of(driver.step(t=[(1, 0, 0, 22)])) == [(10, 22)]


def test_a_restored_cell_remembers_its_punctuations() -> None:
    driver = both()
    driver.step(t=[(1, 0, 0, -1), (2, 0, 0, -1)])
    driver.restart()
    assert driver.step(s=[(1, 0, 0, 10), (2, 0, 0, -1)]).metrics.promise_rows == 1
    driver.restart()
    assert driver.stored("s") == 0
    assert driver.step(s=[(1, 0, 0, -1)]).metrics.promise_rows == 0


def test_a_self_join_holds_each_punctuation_for_both_sides() -> None:
    driver = Driver(
        f"CREATE STREAM s ({FIELDS}, {ON_K}); SELECT x.n, y.n AS yn FROM s AS x, s AS y WHERE x.k = y.k;", "k m ts n"
    )
    result = driver.step(s=[(1, 0, 0, 10), (1, 0, 0, 11), (2, 0, 0, 12), (1, 0, 0, -1)])
    assert len(rows_of(result)) == 5
    assert (driver.stored("x"), driver.stored("y"), result.metrics.promise_rows) == (1, 1, 0)


def test_plans_say_which_rows_are_no_data() -> None:
    plan = plan_of(f"CREATE STREAM s ({FIELDS}, {ON_KM}); SELECT s.n FROM s;")
    assert [(p.stream, p.constraint, p.when) for p in plan.punctuations] == [("s", f"{ON_KM} ON s", "n < 0")]
    assert plan.promises == ()
