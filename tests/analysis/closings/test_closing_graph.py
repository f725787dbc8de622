"""What is reached over closings, in as few steps as can be, and what is left."""

from __future__ import annotations

from penstock.analysis.closings.closing_graph import kept_until
from penstock.explain.reason_words import told
from tests.analysis.scripts import graph_of

CHAIN = (
    "a (k BIGINT, FOLLOWS b (k) ON (k))",
    "b (k BIGINT, m BIGINT, FOLLOWS c (m) ON (m) WITHIN 3 ROWS)",
    "c (m BIGINT)",
)
JOINED = "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.m = c.m"


def test_a_chain_leads_over_what_was_met() -> None:
    reach = graph_of(*CHAIN, select=JOINED).reach("a")
    assert [(edge.sources, edge.target) for edge in reach.edges] == [(("a",), "b"), (("b",), "c")]
    assert told(kept_until(reach, "a")) == (
        "a row is kept until its batch is done, for every row of b that matches it came before, and for each row of b "
        "that it met, 3 more rows of c have arrived"
    )


def test_what_nothing_closes_is_not_reached() -> None:
    graph = graph_of(*CHAIN, select=JOINED)
    assert graph.reach("b").unreached == ("a",)
    assert graph.reach("c").unreached == ("a", "b")
    assert not graph.reach("c").is_complete
    assert [set(node) for node in graph.components()] == [{"a"}, {"b"}, {"c"}]


def test_streams_that_close_each_other_are_one_component() -> None:
    clock = "(k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n)"
    select = "SELECT a.k FROM a, b WHERE a.k = b.k AND a.n = b.n"
    assert graph_of(f"a {clock}", f"b {clock}", select=select).components() == (("a", "b"),)


def test_declarations_that_are_added_open_what_they_would_close() -> None:
    graph = graph_of("a (k BIGINT)", "b (k BIGINT)", select="SELECT a.k FROM a, b WHERE a.k = b.k")
    (missing,) = {c.missing for c in graph.candidates if c.target == "b" and "FOLLOWS" in c.missing[0][1].text}
    assert graph.reach("a").unreached == ("b",)
    assert graph.reach("a", frozenset(missing)).is_complete


def test_a_step_over_a_stream_that_may_be_absent_leads_nowhere() -> None:
    select = "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.m = c.m"
    graph = graph_of(*CHAIN, select=select)
    assert not graph.stands_between("a", "b", "a")
    assert graph.stands_between("a", "a", "c")
    assert graph.stuck()


def test_a_single_stream_reaches_everything() -> None:
    graph = graph_of("a (k BIGINT)", select="SELECT a.k FROM a")
    assert graph.reach("a").is_complete
    assert graph.closings == ()
