"""What DISTINCT and GROUP BY remember: bounded by domains, by time, or not shown to be."""

from __future__ import annotations

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Finding, Means, Unbounded, Undecided
from penstock.explain.reason_words import each_told, told
from penstock.model.clauses import Aggregate, TimeWindow
from penstock.model.relation import JoinKind
from penstock.model.schemes import Ordered, PrimaryKey
from tests.analysis.build import (
    condition,
    expression,
    findings,
    last,
    one_of,
    outer,
    query,
    ref,
    seconds,
    source,
    stream,
    where,
)

CLOCK = stream("a", "k BIGINT, v DOUBLE, ts TIMESTAMP", Ordered("ts", seconds(3)), time="ts")
LOOSE = stream("a", "k BIGINT, v DOUBLE, ts TIMESTAMP", time="ts")
SMALL = stream("a", "f BOOLEAN, t TINYINT, v DOUBLE")
MINUTE = TimeWindow(ref("a.ts"), seconds(60))
COUNT = Aggregate("count")


def bounded(finding: Finding) -> Bounded:
    assert isinstance(finding, Bounded), finding
    return finding


def open_end(finding: Finding) -> Unbounded | Undecided:
    assert isinstance(finding, Unbounded | Undecided), finding
    return finding


def test_the_entry_comes_last_under_its_own_name() -> None:
    entry = check_query(query([source(SMALL)], distinct=True)).streams[-1]
    assert (entry.stream, entry.alias) == ("(distinct)", "(distinct)")


def test_distinct_over_finite_columns_remembers_at_most_their_product() -> None:
    found = findings(query([source(SMALL)], select=["a.f", "a.t"], distinct=True))["(distinct)"]
    assert bounded(found).rows == 3 * 257


def test_equal_columns_count_once() -> None:
    other = stream("b", "t TINYINT")
    found = findings(query([source(SMALL), source(other)], "a.t = b.t", select=["a.t", "b.t"], distinct=True))
    assert bounded(found["(distinct)"]).rows == 256


def test_a_column_of_an_optional_stream_may_also_be_null() -> None:
    other = stream("b", "t TINYINT")
    tree = outer(JoinKind.LEFT, "a", "b", "a.t = b.t")
    found = findings(query([source(SMALL), source(other)], tree=tree, select=["b.t"], distinct=True))
    assert bounded(found["(distinct)"]).rows == 257


def test_an_expression_takes_no_more_values_than_its_columns_if_it_is_deterministic() -> None:
    sure = expression("upper(a.f)", "a.f")
    unsure = expression("f(a.f)", "a.f")
    assert bounded(findings(query([source(SMALL)], select=[sure], distinct=True))["(distinct)"]).rows == 3
    open_end(findings(query([source(SMALL)], select=[unsure], distinct=True))["(distinct)"])


def test_no_group_by_is_one_group() -> None:
    assert bounded(findings(query([source(SMALL)], select=[COUNT]))["(groups)"]).rows == 1


def test_values_kept_for_each_group_count_too() -> None:
    distinct_values = Aggregate("count", ref("a.t"), distinct=True)
    found = findings(query([source(SMALL)], select=[distinct_values], group_by=["a.f"]))["(groups)"]
    assert bounded(found).rows == 3 * (1 + 257)
    pairs = Aggregate("count", ref("a.t"), distinct=True, more=(ref("a.f"),))
    found = findings(query([source(SMALL)], select=[pairs]))["(groups)"]
    assert bounded(found).rows == 1 + 257 * 3
    picked = Aggregate("max_by", ref("a.v"), more=(ref("a.v"),))
    assert bounded(findings(query([source(SMALL)], select=[picked], group_by=["a.f"]))["(groups)"]).rows == 3
    listed = Aggregate("collect_list", ref("a.v"))
    open_end(findings(query([source(SMALL)], select=[listed], group_by=["a.f"]))["(groups)"])
    median = Aggregate("median", ref("a.v"))
    open_end(findings(query([source(SMALL)], select=[median], group_by=["a.f"]))["(groups)"])


def test_groups_of_a_window_leave_once_the_clock_has_passed_it() -> None:
    median = Aggregate("median", ref("a.v"))
    found = bounded(findings(query([source(CLOCK)], select=[median], group_by=[MINUTE, "a.k"]))["(groups)"])
    assert (found.means, found.rows) == (Means.PURGE, None)
    assert told(found.bound) == "a group is kept until the clock of a has passed its window"


def test_a_window_over_a_stream_without_order_names_the_order_as_its_fix() -> None:
    found = open_end(findings(query([source(LOOSE)], select=[COUNT], group_by=[MINUTE, "a.k"]))["(groups)"])
    assert [*map(str, found.fixes)] == ["ORDERED BY ts WITHIN AUTO ON a"]


def test_rows_without_an_event_time_are_never_passed() -> None:
    found = open_end(findings(query([source(CLOCK)], select=["a.ts", "a.k"], distinct=True))["(distinct)"])
    assert any("may be NULL, which no clock passes" in text for text in each_told(found.because))
    assert [*map(str, found.fixes)] == ["CHECK (ts IS NOT NULL) ON a"]
    bounded(findings(query([source(CLOCK)], select=["a.ts"], distinct=True))["(distinct)"])
    never_null = condition("a.ts IS NOT NULL", "a.ts")
    bounded(findings(query([source(CLOCK)], never_null, select=["a.ts", "a.k"], distinct=True))["(distinct)"])
    finite = query([source(CLOCK)], one_of("a.k", 1, 2), select=["a.ts", "a.k"], distinct=True)
    bounded(findings(finite)["(distinct)"])
    keyed = stream("a", "k BIGINT, ts TIMESTAMP", Ordered("ts"), PrimaryKey(("ts",)), time="ts")
    bounded(findings(query([source(keyed)], select=["a.ts", "a.k"], distinct=True))["(distinct)"])


def test_time_closes_a_group_only_where_the_rows_of_that_stream_leave() -> None:
    other = stream("b", "k BIGINT")
    joined = query([source(CLOCK), source(other)], "a.k = b.k", select=[COUNT], group_by=[MINUTE])
    found = open_end(findings(joined)["(groups)"])
    assert "nothing says when the rows of a leave" in each_told(found.because)
    assert str(found.fixes[0]) == "FOLLOWS a (k) ON (k) WITHIN AUTO ON b; FOLLOWS b (k) ON (k) WITHIN AUTO ON a"
    windowed = query([source(CLOCK, window=last(9)), source(other)], "a.k = b.k", select=[COUNT], group_by=[MINUTE])
    bounded(findings(windowed)["(groups)"])


def test_the_clock_of_an_optional_stream_closes_nothing_for_it_may_be_absent() -> None:
    """But for windows of it: a row without it is in none."""
    other = stream("b", "k BIGINT, ts TIMESTAMP", Ordered("ts"), time="ts")
    tree = outer(JoinKind.RIGHT, "a", "b", "a.k = b.k", "a.ts <= b.ts + 5 seconds", "b.ts <= a.ts + 5 seconds")
    window = TimeWindow(ref("a.ts"), seconds(60))
    sources = [source(CLOCK), source(other)]
    open_end(findings(query(sources, tree=tree, select=[COUNT], group_by=["a.ts", "b.k"]))["(groups)"])
    bounded(findings(query(sources, tree=tree, select=[COUNT], group_by=[window, "b.k"]))["(groups)"])


def test_where_there_is_never_a_result_nothing_is_remembered() -> None:
    of = query([source(SMALL)], "a.t > 5", where("a.t < 6"), select=["a.v"], distinct=True)
    assert bounded(findings(of)["(distinct)"]).rows == 0


def test_a_clock_that_rows_arrive_by_is_cited_as_that() -> None:
    arriving = stream("a", "k BIGINT, ts TIMESTAMP", time="ts", arrives="ts")
    found = bounded(findings(query([source(arriving)], select=["a.ts", "a.k"], distinct=True))["(distinct)"])
    assert told(found.bound) == "a row is kept until the clock of a has passed it"
    assert "ARRIVES BY ts ON a" in each_told(found.because)


def test_what_would_bound_it_is_said_where_no_declaration_alone_does() -> None:
    by_key = open_end(findings(query([source(CLOCK)], select=[COUNT], group_by=["a.k"]))["(groups)"])
    assert each_told(by_key.because)[-1] == (
        "this would bound it: a CHECK that leaves finitely many values to a.k, or grouping by window(a.ts, …)"
    )
    loose = open_end(findings(query([source(LOOSE)], select=["a.k"], distinct=True))["(distinct)"])
    assert each_told(loose.because)[-1] == (
        "this would bound it: a CHECK that leaves finitely many values to a.k, or selecting a.ts as well, "
        "with ORDERED BY ts WITHIN AUTO ON a; CHECK (ts IS NOT NULL) ON a"
    )
    unsure = expression("f(a.f)", "a.f")
    of_expression = open_end(findings(query([source(SMALL)], select=[unsure], distinct=True))["(distinct)"])
    assert not any("would bound it" in text for text in each_told(of_expression.because))


def test_a_row_that_holds_a_primary_key_is_not_said_to_come_again() -> None:
    keyed = stream("a", "k BIGINT", PrimaryKey(("k",)))
    found = open_end(findings(query([source(keyed)], select=["a.k"], distinct=True))["(distinct)"])
    assert each_told(found.because)[0] == "each row is remembered, and nothing says when it can no longer come again"


def test_where_only_the_name_of_the_event_time_is_missing_the_fix_is_to_name_it() -> None:
    unnamed = stream("a", "k BIGINT, v DOUBLE, ts TIMESTAMP", Ordered("ts", seconds(3)))
    found = open_end(findings(query([source(unnamed)], select=[COUNT], group_by=["a.k", MINUTE]))["(groups)"])
    assert [str(fix) for fix in found.fixes] == ["EVENT TIME ts ON a"]
    assert "no EVENT TIME is declared of the stream of a.ts: nothing says that a.ts is one" in each_told(found.because)
    neither = stream("a", "k BIGINT, v DOUBLE, ts TIMESTAMP")
    found = open_end(findings(query([source(neither)], select=[COUNT], group_by=["a.k", MINUTE]))["(groups)"])
    assert [str(fix) for fix in found.fixes] == ["EVENT TIME ts ON a; ORDERED BY ts WITHIN AUTO ON a"]


def test_a_number_that_nothing_says_to_be_in_order_is_not_proposed_as_an_event_time() -> None:
    unordered = stream("a", "k BIGINT, v DOUBLE")
    found = open_end(findings(query([source(unordered)], select=["a.k", COUNT], group_by=["a.k"]))["(groups)"])
    assert found.fixes == ()


def test_groups_that_leave_by_a_learned_order_are_exact_if_it_holds() -> None:
    stream = "CREATE STREAM a (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {0});"
    select = "SELECT k, count(*) AS n FROM a GROUP BY k, window(ts, '1 hour');"
    learned = {
        said: penstock.check(penstock.parse(stream.format(said) + select)).learned for said in ("AUTO", "9 ROWS")
    }
    assert learned == {"AUTO": ("ORDERED BY ts WITHIN AUTO ON a",), "9 ROWS": ()}
