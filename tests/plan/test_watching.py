"""What is no longer seen to be broken, and said so."""

from __future__ import annotations

import penstock
from penstock.analysis.check import check_query
from penstock.explain.reason_words import each_told
from penstock.plan.planner import make_plan
from penstock.plan.watching import rests_on_unseen, unseen

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{1});"
SELECT = "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9;"


def _unseen(declared: str) -> tuple[str, ...]:
    (query,) = penstock.parse(STREAM.format("a", declared) + STREAM.format("b", "") + SELECT).queries
    return each_told(unseen(query, make_plan(query, check_query(query)), "a"))


def test_an_order_is_always_watched() -> None:
    assert _unseen("") == ()


def test_a_row_after_a_forgotten_punctuation_is_not_seen() -> None:
    (told,) = _unseen(", PUNCTUATED ON (k) WHEN n = -1")
    assert told.startswith("PUNCTUATED ON (k) WHEN n = -1 ON a")


def test_a_reference_that_nothing_rests_on_is_not_watched() -> None:
    assert [text for text in _unseen(", FOREIGN KEY (k) REFERENCES b (k)") if "FOREIGN KEY" in text]


def test_a_follows_is_unseen_though_another_promise_is_recovered_from() -> None:
    """What FOLLOWS lets go is not set aside because a row that is late by ORDERED BY is."""
    fields = "k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER"
    follows = "FOLLOWS s (k) ON (k) WITHIN 0 ROWS"
    script = f"CREATE STREAM s ({fields}); CREATE STREAM t ({fields}, {follows} ON VIOLATION {{0}});"
    script += "SELECT s.k FROM s, t WHERE s.k = t.k;"
    for policy, told in (("TRUST", True), ("ADAPT", True), ("RECOVER", False)):
        (query,) = penstock.parse(script.format(policy)).queries
        plan = make_plan(query, check_query(query))
        assert (f"{follows} ON t" in rests_on_unseen(query, plan)) is told
