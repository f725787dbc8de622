"""How long a row is kept on an axis of event time: by the clock, over rows that it met, without a length, for ever."""

from __future__ import annotations

import pytest

from penstock.analysis.lifespans import Lifespan, lifespan
from tests.explain.explained import Explained, explained

MINUTE = 60_000_000
STREAM = "CREATE STREAM {0} (k BIGINT, ts TIMESTAMP, EVENT TIME ts{1});"
ORDERED = ", ORDERED BY ts WITHIN {0}"


def _lives(of: Explained) -> dict[str, Lifespan]:
    (verdict,) = of.verdicts
    assert verdict.graph is not None
    return {alias: lifespan(verdict.graph, alias) for alias in verdict.graph.aliases}


def _streams(**late: str) -> str:
    return "".join(STREAM.format(name, ORDERED.format(within) if within else "") for name, within in late.items())


def test_a_row_is_kept_until_the_clocks_of_others_have_passed_it_with_their_lateness() -> None:
    query = "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 MINUTES;"
    found = _lives(explained(_streams(a="1 MINUTE", b="2 MINUTES") + query))
    assert (found["a"].end, found["b"].end) == (12 * MINUTE, MINUTE)
    (wait,) = found["a"].waits
    assert (wait.ticks, wait.late, wait.met) == (10 * MINUTE, 2 * MINUTE, ())
    assert found["a"].instants


def test_over_a_row_that_it_met_lengths_add_up() -> None:
    text = _streams(a="0 SECONDS", b="0 SECONDS", c="0 SECONDS") + (
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 3 MINUTES"
        " AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 4 MINUTES;"
    )
    found = _lives(explained(text))
    assert {wait.target: wait.end for wait in found["a"].waits} == {"b": 3 * MINUTE, "c": 7 * MINUTE}
    assert found["c"].end == 0


@pytest.mark.parametrize(
    ("declared", "has_length", "is_endless"),
    [("", False, True), (", FOLLOWS b (k) ON (k) WITHIN 9 ROWS", False, False)],
)
def test_other_promises_have_no_length_and_without_any_a_row_waits_for_ever(
    declared: str, has_length: bool, is_endless: bool
) -> None:
    text = STREAM.format("a", declared) + STREAM.format("b", "") + "SELECT a.k FROM a, b WHERE a.k = b.k;"
    found = _lives(explained(text))["a"]
    assert (found.end is not None, found.is_endless) == (has_length, is_endless)


def test_lateness_in_rows_or_learned_has_no_length_of_its_own() -> None:
    text = _streams(a="AUTO", b="5 ROWS") + "SELECT a.k FROM a, b WHERE a.k = b.k AND a.ts = b.ts;"
    found = _lives(explained(text))
    assert [wait.late for one in found.values() for wait in one.waits] == [None, None]
    assert found["a"].end == 0
