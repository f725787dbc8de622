"""Rows that are needed for ever, or why none are known; random queries are asked in test_witness.py."""

from __future__ import annotations

from penstock.analysis.witness.purge_witness import Scenario, growing, scenarios
from penstock.explain.reason_words import told
from tests.analysis.scripts import CLOCK, graph_of

JOINED = "SELECT a.k FROM a, b WHERE a.k = b.k"


def test_rows_that_nothing_closes_have_a_scenario_of_any_length() -> None:
    graph = graph_of("a (k BIGINT)", "b (k BIGINT)", select=JOINED)
    found = scenarios(graph, ["a", "b"])
    scenario = found["a"]
    assert isinstance(scenario, Scenario)
    assert (scenario.met, scenario.waited_for) == (("a",), ("b",))
    assert len(scenario.rows(25)) == 25
    witness = growing(graph, found)
    assert witness is not None
    assert told(witness.growth) == (
        "each row of a has a new k and can never leave: as declared now, a row of b with b.k = a.k may still come"
    )


def test_the_input_keeps_the_clocks_that_are_declared() -> None:
    graph = graph_of(f"a ({CLOCK})", f"b ({CLOCK})", select=JOINED)
    scenario = scenarios(graph, ["a"])["a"]
    assert isinstance(scenario, Scenario)
    times = [dict(values)["n"] for stream, values in scenario.rows(12) if stream == "a"]
    assert times == sorted(times, key=lambda value: int(str(value)))


def test_a_condition_that_only_spark_reads_leaves_it_open() -> None:
    graph = graph_of("a (k BIGINT)", "b (k BIGINT)", select=f"{JOINED} AND a.k % 7 = 3")
    (why,) = set(scenarios(graph, ["a"]).values())
    assert not isinstance(why, Scenario)
    assert told(why) == "only Spark can say which rows pass a.k % 7 = 3"
    assert growing(graph, {"a": why}) is None


def test_a_value_that_is_never_closed_among_finitely_many_is_no_growth() -> None:
    graph = graph_of("a (k TINYINT)", "b (k TINYINT, ORDERED BY k)", select=JOINED)
    why = scenarios(graph, ["a"])["a"]
    assert not isinstance(why, Scenario)
    assert told(why) == "b.k never passes the largest TINYINT"
