"""Each declaration that the plan uses has its watch, in the order of the plan; what is remembered goes by column."""

from __future__ import annotations

from penstock.plan.promise_plans import PromiseKind
from penstock.runtime.promise.ordered import ArrivesWatch, LearnedOrderWatch, OrderedWatch
from penstock.runtime.promise.watches import WATCHES, remembered, watches_of
from tests.runtime.driving import plan_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"


def script(s: str, t: str = "") -> str:
    other = f", {t}" if t else ""
    return (
        f"CREATE STREAM s ({FIELDS}, {s}); CREATE STREAM t ({FIELDS}{other});"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 5 AND s.n <= t.n;"
    )


def test_every_kind_of_promise_has_a_watch() -> None:
    assert set(WATCHES) == set(PromiseKind)


def test_watches_are_those_of_the_promises_in_their_order() -> None:
    plan = plan_of(script("ORDERED BY ts, PRIMARY KEY (k)", "ORDERED BY ts, PUNCTUATED ON (k) WHEN n < 0"))
    watches = watches_of(plan, {})
    assert [w.promise for w in watches][: len(plan.promises)] == list(plan.promises)


def test_an_order_that_is_learned_or_of_arrival_has_a_watch_of_its_own() -> None:
    plan = plan_of(script("ORDERED BY n WITHIN AUTO, ARRIVES BY ts", "ORDERED BY n WITHIN AUTO, ARRIVES BY ts"))
    kinds = {type(w) for w in watches_of(plan, {}) if isinstance(w, OrderedWatch)}
    assert LearnedOrderWatch in kinds
    assert ArrivesWatch in kinds


def test_punctuations_are_found_by_stream_and_columns_and_keys_apart() -> None:
    plan = plan_of(script("PRIMARY KEY (k)", "PUNCTUATED ON (k) WHEN n < 0"))
    promised, ghosts = remembered(watches_of(plan, {}))
    assert ("t", ("k",)) in promised
    assert ("t", ("k",)) not in ghosts
