"""The verdict on whole queries, case by case: what bounds each source, and what follows for the query."""

from __future__ import annotations

import time

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Finding, Means, Strategy, Unbounded, Undecided
from penstock.explain.reason_words import each_told, told
from penstock.model.hints import Budget, Hints
from penstock.model.query import Query
from penstock.model.relation import Existence, Join, JoinKind, Leaf
from penstock.model.schemes import Clustered, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Auto, Rows, Within
from penstock.model.stream import Stream
from tests.analysis.build import (
    check,
    condition,
    expression,
    findings,
    last,
    one_of,
    outer,
    query,
    recent,
    seconds,
    source,
    stream,
    where,
)
from tests.measure import allowed_seconds

BAND = ("b.ts <= a.ts + 5 seconds", "b.ts >= a.ts - 2 seconds")


def timed(name: str, *schemes: Scheme, arrives: str | None = None) -> Stream:
    return stream(name, "k BIGINT, ts TIMESTAMP", *schemes, time="ts", arrives=arrives)


def keyed(name: str, *schemes: Scheme) -> Stream:
    return stream(name, "k BIGINT, v BIGINT", *schemes)


def bounded(finding: Finding, means: Means) -> Bounded:
    assert isinstance(finding, Bounded), finding
    assert finding.means is means
    return finding


def open_end(finding: Finding) -> Unbounded | Undecided:
    assert isinstance(finding, Unbounded | Undecided), finding
    return finding


def test_one_source_alone_stores_nothing() -> None:
    verdict = check_query(query([source(keyed("a"))], "a.v > 3"))
    assert (verdict.verdict, verdict.strategy, verdict.exact) == ("bounded", Strategy.PURGE, True)
    assert bounded(verdict.streams[0].finding, Means.STATELESS).rows == 0
    assert verdict.memory.bounded is True
    assert verdict.purge.safe is True


def test_a_rows_window_bounds_its_own_source_and_no_other() -> None:
    found = findings(query([source(keyed("a"), window=last(7)), source(keyed("b"))], "a.k = b.k"))
    assert bounded(found["a"], Means.WINDOW).rows == 7
    open_end(found["b"])


@pytest.mark.parametrize("within", [None, Rows(5), seconds(3), Auto()])
def test_a_band_closes_a_stream_whose_event_time_is_ordered_in_rows_in_time_or_auto(within: Within | None) -> None:
    ordered = Ordered("ts", within)
    verdict = check_query(query([source(timed("a", ordered)), source(timed("b", ordered))], "a.k = b.k", *BAND))
    assert verdict.verdict == "bounded"
    assert verdict.purge.streams == (("a", True), ("b", True))
    first = bounded(verdict.streams[0].finding, Means.PURGE)
    assert first.rows is None
    assert told(first.bound) == "a row is kept until b.ts has passed a.ts + 5 SECONDS"
    assert each_told(first.because) == ("b.ts <= a.ts + INTERVAL 5 SECONDS", ordered.on("b"))


def test_arriving_by_the_event_time_is_an_order_too() -> None:
    found = findings(query([source(timed("a")), source(timed("b", arrives="ts"))], "a.k = b.k", *BAND))
    assert "ARRIVES BY ts ON b" in each_told(bounded(found["a"], Means.PURGE).because)


def test_a_band_without_order_is_unbounded_and_names_the_order_as_its_fix() -> None:
    found = open_end(findings(query([source(timed("a")), source(timed("b"))], "a.k = b.k", *BAND))["a"])
    assert str(found.fixes[0]) == "ORDERED BY ts WITHIN AUTO ON a; ORDERED BY ts WITHIN AUTO ON b"


def test_a_range_window_closes_every_other_ordered_stream() -> None:
    ordered = Ordered("ts", seconds(3))
    found = findings(
        query([source(timed("a", ordered), window=recent(60)), source(timed("b", ordered))], "a.k = b.k"),
    )
    bounded(found["a"], Means.PURGE)
    open_end(found["b"])


def test_a_range_window_says_nothing_of_a_stream_without_event_time() -> None:
    found = findings(query([source(timed("a"), window=recent(60)), source(keyed("b"))], "a.k = b.k"))
    assert "[RANGE 60 SECONDS] on a does not reach b, which declares no EVENT TIME" in each_told(
        open_end(found["a"]).because
    )


@pytest.mark.parametrize("within", [None, Rows(200), Auto()])
def test_follows_in_rows_closes_the_parent_for_the_child_only(within: Within | None) -> None:
    child = keyed("a", Follows("b", ("k",), ("k",), within))
    verdict = check_query(query([source(child), source(keyed("b"))], "a.k = b.k"))
    bounded(verdict.streams[0].finding, Means.PURGE)
    open_end(verdict.streams[1].finding)
    assert len(each_told(verdict.notices)) == 1
    assert "order of reading" in each_told(verdict.notices)[0]


def test_counting_rows_across_streams_is_no_notice_where_all_declare_their_arrival() -> None:
    follows = Follows("b", ("k",), ("k",), Rows(3))
    streams = [stream("a", "k BIGINT, s BIGINT", follows, arrives="s"), stream("b", "k BIGINT, s BIGINT", arrives="s")]
    assert each_told(check_query(query([source(s) for s in streams], "a.k = b.k")).notices) == ()


def test_a_stream_joined_with_itself_is_read_in_one_order() -> None:
    own = keyed("a", Follows("a", ("k",), ("k",), Rows(3)))
    assert each_told(check_query(query([source(own, "x"), source(own, "y")], "x.k = y.k")).notices) == ()


def test_follows_on_columns_that_the_query_does_not_join_closes_nothing() -> None:
    child = keyed("a", Follows("b", ("v",), ("v",)))
    open_end(findings(query([source(child), source(keyed("b"))], "a.k = b.k"))["a"])


def test_follows_within_a_span_needs_the_parent_to_be_ordered() -> None:
    follows = Follows("b", ("k",), ("k",), seconds(10))
    loose = findings(query([source(timed("a", follows)), source(timed("b"))], "a.k = b.k"))
    assert "ORDERED BY ts WITHIN AUTO ON b" in str(open_end(loose["a"]).fixes[0])
    ordered = timed("b", Ordered("ts"))
    bounded(findings(query([source(timed("a", follows)), source(ordered)], "a.k = b.k"))["a"], Means.PURGE)


def test_an_ordered_key_closes_whatever_equals_it_or_lies_above_it() -> None:
    ordered = keyed("b", Ordered("k", Rows(10)))
    bounded(findings(query([source(keyed("a")), source(ordered)], "a.k = b.k"))["a"], Means.PURGE)
    bounded(findings(query([source(keyed("a")), source(ordered)], "b.k <= a.v"))["a"], Means.PURGE)
    open_end(findings(query([source(keyed("a")), source(ordered)], "b.k >= a.v"))["a"])


def test_an_ordered_column_that_has_a_largest_value_never_passes_it() -> None:
    ordered = keyed("b", Ordered("k"), check("k <= 9"))
    open_end(findings(query([source(keyed("a")), source(ordered)], "a.k = b.k"))["a"])
    dense = [stream(n, "k DOUBLE", Ordered("k"), check("k <= 9")) for n in "ab"]
    open_end(findings(query([source(s) for s in dense], "a.k = b.k"))["a"])


def test_keys_and_clusters_close_only_what_arrives_and_the_reasons_say_so() -> None:
    other = keyed("b", PrimaryKey(("k",)), Clustered("k", Rows(9)), Punctuated(("v",), (where("v = 0"),)))
    because = each_told(open_end(findings(query([source(keyed("a")), source(other)], "a.k = b.k"))["a"]).because)
    assert any(text.startswith("PRIMARY KEY (k) ON b closes only values that arrive") for text in because)
    assert any(text.startswith("CLUSTERED BY k WITHIN 9 ROWS ON b closes only") for text in because)
    assert any(text.startswith("PUNCTUATED ON (v) WHEN v = 0 ON b closes nothing here") for text in because)


def test_a_foreign_key_closes_nothing_without_a_key_or_a_cluster_of_its_parent() -> None:
    child = source(keyed("a", ForeignKey(("k",), "b", ("k",))))
    open_end(findings(query([child, source(keyed("b"))], "a.k = b.k"))["a"])
    key = bounded(findings(query([child, source(keyed("b", PrimaryKey(("k",))))], "a.k = b.k"))["a"], Means.PURGE)
    assert told(key.bound) == "a row is kept until the row of b that it names has arrived"
    assert each_told(key.because) == ("PRIMARY KEY (k) ON b", "FOREIGN KEY (k) REFERENCES b (k) ON a")
    bounded(findings(query([child, source(keyed("b", Clustered("k", Rows(3))))], "a.k = b.k"))["a"], Means.PURGE)


def test_equalities_are_closed_transitively_before_schemes_are_tied() -> None:
    child = keyed("a", Follows("c", ("k",), ("k",)), Follows("b", ("k",), ("k",)))
    of = query([source(child), source(keyed("b")), source(keyed("c"))], "a.k = b.k", "b.k = c.k")
    bounded(findings(of)["a"], Means.PURGE)


def test_a_chain_of_follows_purges_its_first_child() -> None:
    of = query(
        [
            source(keyed("a", Follows("b", ("k",), ("k",)))),
            source(keyed("b", Follows("c", ("v",), ("v",)))),
            source(keyed("c")),
        ],
        "a.k = b.k",
        "b.v = c.v",
    )
    found = findings(of)
    assert "for each row of b that it met" in told(bounded(found["a"], Means.PURGE).bound)
    open_end(found["b"])


def test_a_chain_over_an_optional_stream_does_not_close_what_its_absence_leaves_open() -> None:
    follows_b = Follows("b", ("k",), ("k",))
    follows_c = Follows("c", ("k",), ("k",))
    streams = [keyed("a", follows_b), keyed("b", follows_c), keyed("c")]
    first = outer(JoinKind.LEFT, "a", "b", "a.k = b.k")
    beside = Join(JoinKind.LEFT, first, Leaf("c"), (where("a.k = c.k"),))
    behind = Join(JoinKind.LEFT, first, Leaf("c"), (where("b.k = c.k"),))
    open_end(findings(query([source(s) for s in streams], tree=beside))["a"])
    bounded(findings(query([source(s) for s in streams], tree=behind))["a"], Means.PURGE)


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL])
def test_outer_joins_under_a_band_are_purged_on_both_sides(kind: JoinKind) -> None:
    ordered = Ordered("ts", seconds(3))
    of = query(
        [source(timed("a", ordered)), source(timed("b", ordered))], tree=outer(kind, "a", "b", "a.k = b.k", *BAND)
    )
    assert check_query(of).verdict == "bounded"


@pytest.mark.parametrize("negated", [False, True])
def test_exists_waits_for_the_inner_stream_and_the_inner_stream_for_the_outer_one(negated: bool) -> None:
    ordered = Ordered("ts", seconds(3))
    inner = Existence(source(timed("b", ordered)), negated, (where("a.k = b.k"), *(where(c) for c in BAND)))
    assert [e.alias for e in check_query(query([source(timed("a", ordered))], exists=[inner])).streams] == ["a", "b"]
    assert check_query(query([source(timed("a", ordered))], exists=[inner])).verdict == "bounded"
    assert check_query(query([source(timed("a"))], exists=[inner])).verdict == "undecided"


def test_rows_that_cannot_be_told_apart_are_merged_into_the_product_of_their_domains() -> None:
    small = [stream(n, "k TINYINT, on BOOLEAN, v BIGINT") for n in "ab"]
    verdict = check_query(query([source(s) for s in small], "a.k = b.k", "a.v > 3", select=["a.on"]))
    assert (verdict.verdict, verdict.strategy) == ("bounded", Strategy.SYNOPSIS)
    assert verdict.memory.bounded is True
    assert bounded(verdict.streams[0].finding, Means.SYNOPSIS).rows == 256 * 3
    assert bounded(verdict.streams[1].finding, Means.SYNOPSIS).rows == 256


def test_a_product_too_large_to_help_is_bounded_and_says_so() -> None:
    small = [stream(n, "k SMALLINT, m SMALLINT") for n in "ab"]
    found = findings(query([source(s) for s in small], "a.k = b.k", "a.m = b.m"))
    assert bounded(found["a"], Means.SYNOPSIS).rows == 65536**2
    assert "no practical bound" in each_told(bounded(found["a"], Means.SYNOPSIS).because)[-1]


def test_a_source_of_which_only_the_number_of_rows_matters_keeps_one() -> None:
    found = findings(query([source(keyed("a")), source(keyed("b"))], one_of("a.k", 1, 2), select=["a.k"]))
    assert bounded(found["b"], Means.SYNOPSIS).rows == 1
    assert bounded(found["a"], Means.SYNOPSIS).rows == 2


def test_an_event_time_under_a_window_keeps_rows_apart() -> None:
    clocks = [stream(n, "k TINYINT, ts TIMESTAMP", time="ts") for n in "ab"]
    verdict = check_query(query([source(clocks[0], window=recent(5)), source(clocks[1])], "a.k = b.k"))
    assert verdict.verdict == "undecided"
    assert verdict.memory.bounded is True


def test_merging_is_not_claimed_under_an_outer_join() -> None:
    small = [stream(n, "k BOOLEAN") for n in "ab"]
    of = query([source(s) for s in small], tree=outer(JoinKind.LEFT, "a", "b", "a.k = b.k"))
    because = each_told(open_end(findings(of)["a"]).because)
    assert "rows of a are not merged under an outer join or EXISTS" in because


def test_an_optional_side_that_the_where_demands_is_an_inner_join() -> None:
    small = [stream(n, "k BOOLEAN, v BIGINT") for n in "ab"]
    tree = outer(JoinKind.LEFT, "a", "b", "a.k = b.k")
    bounded(findings(query([source(s) for s in small], "b.v > 0", tree=tree))["a"], Means.SYNOPSIS)
    null_side = condition("b.v IS NULL", "b.v")
    open_end(findings(query([source(s) for s in small], null_side, tree=tree))["a"])


@pytest.mark.parametrize(("unit", "rows"), [("ROWS", 100), ("MB", None)])
def test_a_budget_bounds_every_entry_and_keeps_what_is_tighter(unit: str, rows: int | None) -> None:
    hints = Hints(budget=Budget(100, unit))
    of = query([source(keyed("a"), window=last(7)), source(keyed("b"))], "a.k = b.k", hints=hints)
    verdict = check_query(of)
    assert (verdict.verdict, verdict.strategy, verdict.exact) == ("bounded", Strategy.BUDGET, False)
    assert bounded(verdict.streams[0].finding, Means.WINDOW).rows == 7
    assert bounded(verdict.streams[1].finding, Means.BUDGET).rows == rows


@pytest.mark.parametrize(("rows", "names_it"), [(5, True), (7, False), (100, False)])
def test_a_budget_below_a_bound_is_named_in_it(rows: int, names_it: bool) -> None:
    hints = Hints(budget=Budget(rows, "ROWS"))
    of = query([source(keyed("a"), window=last(7)), source(keyed("b"))], "a.k = b.k", hints=hints)
    found = bounded(check_query(of).streams[0].finding, Means.WINDOW)
    assert found.rows == min(7, rows)
    assert (f"the budget of {rows} ROWS for the whole query" in told(found.bound)) is names_it
    assert ("over the budget, rows are evicted and results lost" in each_told(found.because)) is names_it


def test_the_columns_of_value_keep_rows_apart() -> None:
    small = [stream(n, "k TINYINT, v BIGINT") for n in "ab"]
    value = expression("a.v * 2", "a.v")
    of = query([source(s) for s in small], "a.k = b.k", hints=Hints(budget=Budget(9, "MB"), value=value))
    assert bounded(findings(of)["a"], Means.BUDGET).rows is None
    bounded(findings(of)["b"], Means.SYNOPSIS)


def test_a_query_is_as_bounded_as_the_worst_of_its_entries() -> None:
    verdict = check_query(query([source(keyed("a"), window=last(7)), source(keyed("b"))], "a.k = b.k"))
    assert (verdict.verdict, verdict.strategy) == ("unbounded", Strategy.NONE)
    assert (verdict.memory.bounded, verdict.purge.safe) == (False, False)
    assert verdict.purge.streams == (("a", True), ("b", False))
    assert verdict.rewrite.applies is False
    assert verdict.witness is not None


def _wide() -> Query:
    columns = ", ".join(f"c{i} BIGINT" for i in range(9)) + ", ts TIMESTAMP"
    sources = [source(stream(f"s{i}", columns, time="ts"), window=recent(5)) for i in range(10)]
    return query(sources, *(f"s{i}.c0 = s{i + 1}.c0" for i in range(9)))


def test_the_same_query_gets_the_same_verdict_word_for_word() -> None:
    assert check_query(_wide()) == check_query(_wide())


def test_ten_sources_of_ten_columns_are_checked_in_a_fraction_of_a_second() -> None:
    best = 10.0
    for _ in range(5):
        of = _wide()
        start = time.process_time()
        check_query(of)
        best = min(best, time.process_time() - start)
    assert best < allowed_seconds(0.2)


def test_an_outer_join_is_unbounded_where_results_show_both_sides_of_a_match() -> None:
    streams = [source(keyed("a")), source(keyed("b"))]
    tree = outer(JoinKind.LEFT, "a", "b", "a.k = b.k")
    shown = check_query(query(streams, tree=tree, select=["a.k", "b.v"]))
    assert (shown.verdict, shown.purge.safe) == ("unbounded", False)
    assert shown.witness is not None
    # Each row of a is given out whatever b brings, so that a cleverer engine might not have to keep it.
    hidden = check_query(query(streams, tree=tree, select=["a.k"]))
    assert (hidden.verdict, hidden.purge.safe, hidden.witness) == ("undecided", False, None)
