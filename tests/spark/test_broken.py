"""What a run says when promises break: each constraint once, and which bound is lost by it."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.compile import runnable_plan
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.spark.told import BrokenPromises, unwatched_failures

KEYED = """
CREATE STREAM s (k BIGINT, PRIMARY KEY (k), FOREIGN KEY (k) REFERENCES t (k));
CREATE STREAM t (k BIGINT, PRIMARY KEY (k){policy}, FOREIGN KEY (k) REFERENCES s (k));
SELECT s.k FROM s, t WHERE s.k = t.k;
"""
FOLLOWING = """
CREATE STREAM s (k BIGINT, PRIMARY KEY (k));
CREATE STREAM t (k BIGINT, FOLLOWS s (k) ON (k) WITHIN 5 ROWS{policy});
SELECT s.k FROM s [ROWS 10], t WHERE s.k = t.k;
"""


def planned(script: str) -> tuple[Query, Plan]:
    (query,) = penstock.parse(script).queries
    return query, runnable_plan(query, penstock.check(penstock.parse(script)), allow_unbounded=False)


def told(script: str, constraint: str, k: Any = None) -> list[str]:
    _, plan = planned(script)
    line = {"violations": {constraint: 3}, "malformed": {}, "lost": 2, "k": {} if k is None else {constraint: k}}
    broken = BrokenPromises()
    notes = list(broken.notes(plan, line))
    assert not list(broken.notes(plan, line)), "each once"
    return notes


def test_a_bound_that_is_lost_is_named() -> None:
    first, second = told(KEYED.format(policy=""), "PRIMARY KEY (k) ON t")
    assert first.startswith("3 rows break PRIMARY KEY (k) ON t; ADAPT no longer closes values by it")
    assert first.endswith("the stated bound of s is lost by it; results that this may lose are counted with MONITOR")
    assert "2 in this batch" in second
    follows = "FOLLOWS s (k) ON (k) WITHIN 5 ROWS ON t"
    first, _ = told(FOLLOWING.format(policy=""), follows, 9)
    assert "ADAPT widens its k to 9 ROWS; the stated bound of t is lost by it" in first


@pytest.mark.parametrize("policy", ["TRUST", "QUARANTINE", "RECOVER"])
def test_other_policies_say_what_they_do(policy: str) -> None:
    first, _ = told(KEYED.format(policy=f" ON VIOLATION {policy}"), "PRIMARY KEY (k) ON t")
    assert policy in first
    assert "bound" not in first


def test_fail_says_what_it_cannot_see() -> None:
    (note,) = unwatched_failures(*planned(FOLLOWING.format(policy=" ON VIOLATION FAIL")))
    assert "once the row has left that it meets, a match that needs more than 1.2 times k is seen only in" in note
    assert not list(unwatched_failures(*planned(FOLLOWING.format(policy=""))))


@pytest.mark.parametrize("policy", ["FAIL", "QUARANTINE"])
@pytest.mark.parametrize("declared", ["PRIMARY KEY (n)", "CHECK (m > 1)", "FOREIGN KEY (k) REFERENCES t (k)"])
def test_what_nobody_watches_is_told_where_it_asks_to_be(declared: str, policy: str) -> None:
    """The answer does not rest on it, but whoever wrote FAIL waits for a failure that never comes."""
    streams = "CREATE STREAM s (k INT, n BIGINT, m BIGINT, {}); CREATE STREAM t (k INT);"
    select = "SELECT s.n FROM s [ROWS 9], t [ROWS 9] WHERE s.k = t.k;"
    (note,) = unwatched_failures(*planned(streams.format(f"{declared} ON VIOLATION {policy}") + select))
    assert note.startswith(f"{declared} ON s is not watched, though it says ON VIOLATION {policy}")
    assert not list(unwatched_failures(*planned(streams.format(declared) + select)))
