"""The purge rule case by case: what is dead, what is complete, what must stay, and what is asked again when."""

from __future__ import annotations

import pytest

from penstock.runtime.join import purged
from tests.runtime.driving import Driver, rows_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"


def streams(**declared: str) -> str:
    return "".join(f"CREATE STREAM {name} ({FIELDS}{d and ', ' + d}); " for name, d in declared.items())


def test_a_child_leaves_at_once_whether_its_parent_came_or_not() -> None:
    driver = Driver(streams(s="", t="FOLLOWS s (k) ON (k)") + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;")
    result = driver.step(s=[(1, 0, 1)], t=[(1, 0, 1), (2, 0, 2)])
    assert result.metrics.purged == {"complete": 2}, "where all is closed nobody asks whether a partner was there"
    assert (driver.stored("s"), driver.stored("t")) == (1, 0)


def test_rows_with_keys_on_both_sides_leave_when_they_have_met() -> None:
    script = streams(s="PRIMARY KEY (k)", t="PRIMARY KEY (k)") + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    driver = Driver(script)
    driver.step(s=[(1, 0, 1), (2, 0, 2)])
    result = driver.step(t=[(1, 0, 9)])
    assert rows_of(result) == [(1, 9)]
    assert (driver.stored("s"), driver.stored("t")) == (1, 0)
    assert result.metrics.promise_rows == 0, "each side knows the other's key to be closed, so neither is remembered"


def test_a_key_is_remembered_while_a_tuple_that_names_it_may_come() -> None:
    script = streams(s="", t="PRIMARY KEY (k)", u="FOLLOWS t (n) ON (n)") + (
        "SELECT s.n, t.n AS tn, u.n AS un FROM s, t, u WHERE s.k = t.k AND t.n = u.n AND t.k <= u.ts AND u.ts < 5;"
    )
    driver = Driver(script)
    driver.step(t=[(1, 0, 9)])
    assert driver.stored("t") == 1
    assert rows_of(driver.step(u=[(0, 3, 9)], s=[(1, 0, 4)])) == [(4, 9, 9)]


def test_a_chain_lets_go_from_the_far_end() -> None:
    order = "ORDERED BY ts"
    script = streams(a=order, b=order, c=order) + (
        "SELECT a.n, b.n AS bn, c.n AS cn FROM a, b, c WHERE a.k = b.k AND b.n = c.n "
        "AND b.ts - a.ts BETWEEN 0 AND 2 AND c.ts - b.ts BETWEEN 0 AND 2;"
    )
    driver = Driver(script)
    driver.step(a=[(1, 0, 1)], b=[(1, 1, 5)])
    assert (driver.stored("a"), driver.stored("b")) == (1, 1)
    driver.step(b=[(7, 3, 6)])
    assert driver.stored("a") == 1, "b is closed for it, but a partner that it has may still meet c"
    assert rows_of(driver.step(c=[(0, 3, 5)])) == [(1, 5, 5)]
    driver.step(c=[(0, 4, 0)], a=[(9, 4, 0)])
    assert driver.stored("a") == 1
    assert driver.cell.synopses["b"].live == 0


def test_a_row_leaves_when_the_partner_it_waited_with_is_dead() -> None:
    script = streams(a="FOLLOWS b (k) ON (k)", b="", c="ORDERED BY ts") + (
        "SELECT a.n, b.n AS bn, c.n AS cn FROM a, b, c WHERE a.k = b.k AND b.n = c.n AND c.ts <= b.ts;"
    )
    driver = Driver(script)
    driver.step(a=[(1, 0, 1)], b=[(1, 5, 5)])
    assert driver.stored("a") == 1
    driver.step(c=[(0, 6, 0)])
    assert (driver.stored("a"), driver.stored("b")) == (0, 0)


def test_on_a_cycle_agreement_is_asked_of_the_whole_partial_result() -> None:
    # x = (k, ts, n); a cycle a.k = b.k, b.n = c.n, c.ts = a.ts, and d hangs on c.k and on b.ts.
    script = streams(a="FOLLOWS b (k) ON (k), FOLLOWS d (ts) ON (n)", b="FOLLOWS c (n) ON (n)", c="", d="") + (
        "SELECT a.n, b.n AS bn, c.n AS cn, d.n AS dn FROM a, b, c, d "
        "WHERE a.k = b.k AND b.n = c.n AND c.ts = a.ts AND c.k = d.k AND a.n = d.ts;"
    )
    driver = Driver(script)
    result = driver.step(a=[(1, 0, 1)], b=[(1, 0, 5)], c=[(3, 7, 5)])
    assert rows_of(result) == []
    # The one c that its b meets has another ts than a, so a can be in no result.
    assert driver.stored("a") == 0


def test_rows_windows_hold_the_last_rows_and_no_more() -> None:
    script = streams(s="", t="") + "SELECT s.n, t.n AS tn FROM s [ROWS 2], t [ROWS 1] WHERE s.k = t.k;"
    driver = Driver(script)
    driver.step(s=[(1, 0, 1), (1, 0, 2), (1, 0, 3)])
    assert driver.stored("s") == 2
    assert rows_of(driver.step(t=[(1, 0, 9)], s=[(1, 0, 4)])) == [(3, 9), (4, 9)]
    assert (driver.stored("s"), driver.stored("t")) == (2, 1)


def test_a_single_stream_stores_nothing() -> None:
    driver = Driver(streams(s="") + "SELECT s.n FROM s;")
    assert rows_of(driver.step(s=[(1, 0, 1), (1, 0, 1)])) == [(1,), (1,)]
    assert driver.stored("s") == 0


def test_lazy_keeps_what_is_useless_until_the_state_has_grown_by_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purged, "LEAST_ROWS", 4)
    script = streams(s="", t="PUNCTUATED ON (k) WHEN n < 0") + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    driver = Driver(script, patience=purged.Patience.LAZY)
    driver.step(t=[(1, 0, -1), (2, 0, -1)])
    driver.step(s=[(1, 0, 1), (9, 0, 2), (9, 0, 3)])
    assert driver.stored("s") == 3, "three rows are too few to ask"
    driver.step(s=[(2, 0, 4)])
    assert driver.stored("s") == 2
    driver.step(s=[(1, 0, 5)])
    assert driver.stored("s") == 3
    assert rows_of(driver.step(t=[(9, 0, 7)])) == [(2, 7), (3, 7)]
    driver.run.patience = purged.Patience.EAGER
    driver.restart()
    driver.step()
    assert driver.stored("s") == 2, "an eager cell that takes over asks of all rows first"


@pytest.mark.parametrize("joined", ["x.k = y.k AND x.k = y.n", "x.k = y.k AND y.ts = x.ts AND y.n = y.ts"])
def test_the_key_of_a_row_that_can_be_in_no_result_has_come_all_the_same(joined: str) -> None:
    declared = "PRIMARY KEY (k), CLUSTERED BY n WITHIN 1 ROWS"
    driver = Driver(streams(s=declared) + f"SELECT x.n, y.n AS yn FROM s AS x, s AS y WHERE {joined};")
    assert [source.state.verdict for source in driver.plan.sources] == ["bounded", "bounded"]
    assert rows_of(driver.step(s=[(3, 0, 1), (7, 7, 7), (None, 0, 2)])) == [(7, 7)]
    driver.step(s=[(4, None, 1)])
    assert (driver.stored("x"), driver.stored("y")) == (0, 0), "the row of y that each of x names is itself"


def test_a_parent_that_can_be_in_no_result_lets_its_children_go() -> None:
    script = streams(s="FOREIGN KEY (k) REFERENCES t (k)", t="PRIMARY KEY (k)") + (
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND s.n = t.n AND s.n = t.ts;"
    )
    driver = Driver(script)
    driver.step(s=[(1, 0, 5), (2, 0, 5)], t=[(1, 5, 6)])
    assert driver.stored("s") == 1
    driver.restart()
    driver.step(s=[(1, 0, 6)], t=[(2, 5, None)])
    assert driver.stored("s") == 0


def test_a_row_is_dead_if_the_one_that_it_names_does_not_agree_with_it() -> None:
    script = streams(s="", t="PRIMARY KEY (k)", u="PRIMARY KEY (n)") + (
        "SELECT s.n FROM s, t, u WHERE s.k = t.k AND s.n = u.n AND t.ts < s.ts;"
    )
    driver = Driver(script)
    driver.step(t=[(1, 0, 0), (2, 9, 0)], s=[(1, 5, 7), (2, 5, 8), (3, 5, 9)])
    assert driver.stored("s") == 2, "what names 2 has met nothing, and nothing else will come that it names"
    driver.step(t=[(3, 9, 0)])
    assert driver.stored("s") == 1
    assert rows_of(driver.step(u=[(0, 0, 7)])) == [(7,)]


def test_a_row_is_dead_if_the_one_that_it_names_leaves_as_it_comes() -> None:
    script = streams(s="", t="PRIMARY KEY (k)", u="PRIMARY KEY (n)") + (
        "SELECT s.n FROM t [ROWS 1] AS t, s, u WHERE s.k = t.k AND s.n = u.n;"
    )
    driver = Driver(script)
    driver.step(t=[(1, 0, 0), (2, 0, 0)], s=[(1, 0, 7), (2, 0, 8)])
    assert (driver.stored("t"), driver.stored("s")) == (1, 1)
    assert rows_of(driver.step(u=[(0, 0, 7), (0, 0, 8)])) == [(8,)]
