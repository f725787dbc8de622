"""A clock that cannot get there closes nothing: which columns have a largest value, and what follows for the verdict.

The oracle: two streams under a random band, keys and windows, each with an ordered event time that a CHECK or the type
may limit. Where a row is said to be kept until a column has passed some value, the stream must be able to bring rows
that far without breaking its declarations, for whatever row of the other stream.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Means, Undecided
from penstock.explain.reason_words import each_told, told
from penstock.model.clauses import Aggregate, RangeWindow, TimeWindow
from penstock.model.monotone import rises
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.schemes import Ordered, Scheme
from penstock.model.stream import Column, Stream
from tests.analysis.build import (
    check,
    condition,
    data_type,
    derived_column,
    findings,
    number_of,
    one_of,
    query,
    recent,
    ref,
    seconds,
    source,
    stream,
    where,
)
from tests.analysis.test_purge_oracle import COLUMNS, World

MINUTE = TimeWindow(ref("a.ts"), seconds(60))


@pytest.mark.parametrize(
    ("kind", "is_limited"),
    [
        ("TINYINT", True),
        ("SMALLINT", True),
        ("BOOLEAN", True),
        ("TIME", True),
        ("DECIMAL(9,4)", True),
        ("DECIMAL(10,4)", False),
        ("DOUBLE", True),
        ("INT", False),
        ("BIGINT", False),
        ("STRING", False),
        ("DATE", False),
        ("TIMESTAMP", False),
    ],
)
def test_a_type_has_a_largest_value_or_counts_as_endless(kind: str, is_limited: bool) -> None:
    assert (never_passes(stream("a", f"x {kind}; y BIGINT"), "x") is not None) is is_limited


@pytest.mark.parametrize("text", ["CHAR(3)", "VARCHAR(20)", "varchar(20)"])
def test_strings_of_a_longest_length_have_a_largest_value(text: str) -> None:
    of = Stream("a", (Column("x", data_type(text)),))
    limit = never_passes(of, "x")
    assert limit is not None
    assert told(limit) == f"never passes the largest {text.upper()}"


@pytest.mark.parametrize(
    ("condition", "limit"),
    [
        (where("x < 5"), "never passes 5: CHECK (x < 5) ON a"),
        (where("x = 5"), "never passes 5: CHECK (x = 5) ON a"),
        (one_of("x", 1, 2), "never passes the largest of its values: CHECK (x IN (1, 2)) ON a"),
        (where("x <= t"), "never passes t (CHECK (x <= t) ON a), which never passes the largest TINYINT"),
        (where("t > x"), "never passes t (CHECK (t > x) ON a), which never passes the largest TINYINT"),
        (
            condition("x % 7 < 3", "x"),
            "may never pass some value, for only Spark reads this: CHECK (x % 7 < 3) ON a",
        ),
        (where("x > 5"), None),
        (where("x <= y"), None),
        (where("x >= t"), None),
        (condition("x IS NOT NULL", "x"), None),
        (condition("x < 5 OR y = 1", "x", "y"), None),
    ],
)
def test_a_condition_that_all_rows_keep_may_set_a_limit(condition: Predicate, limit: str | None) -> None:
    columns = "x BIGINT, y BIGINT, t TINYINT"
    found = never_passes(stream("a", columns, check(condition)), "x")
    assert (None if found is None else told(found)) == limit
    in_where = never_passes(stream("a", columns, where=[condition]), "x")
    assert (in_where is None) == (limit is None)


def test_columns_that_limit_each_other_alone_are_endless() -> None:
    assert never_passes(stream("a", "x BIGINT, y BIGINT", check("x <= y", "y <= x")), "x") is None


@pytest.mark.parametrize(
    ("checked", "is_limited"), [(("ms",), True), (("ms", "day"), True), (("day",), False), ((), False)]
)
def test_a_derived_column_is_limited_where_all_that_it_reads_is(checked: tuple[str, ...], is_limited: bool) -> None:
    reads = ("ms", "day") if "day" in checked and "ms" in checked else ("ms",)
    derived = derived_column(f"timestamp_millis({' + '.join(reads)})", *reads)
    columns = (
        Column("ms", data_type("BIGINT")),
        Column("day", data_type("BIGINT")),
        Column("ts", data_type("TIMESTAMP"), derived),
    )
    of = Stream("a", columns, "ts", schemes=tuple(check(f"{c} < 9") for c in checked))
    assert (never_passes(of, "ts") is not None) is is_limited


@pytest.mark.parametrize(
    ("text", "is_known_to_rise"),
    [
        ("ms", True),
        ("`ms` + 5", True),
        ("(ms - 7) * 2 / 3.5", True),
        ("timestamp_millis(ms)", True),
        ("to_timestamp(text, 'yyyy-MM-dd')", True),
        ("CAST(ms / 1000 AS TIMESTAMP)", True),
        ("ms::TIMESTAMP + INTERVAL '5' MINUTES", True),
        ("date_trunc('HOUR', timestamp_seconds(ms))", True),
        ("greatest(ms, hour(at))", True),
        ("coalesce(ms, 0)", True),
        ("from_utc_timestamp(to_utc_timestamp(at, 'UTC'), 'Asia/Tokyo')", True),
        ("date_sub(at, 3)", True),
        ("trunc(at, 'MM')", True),
        ("trunc(at, text)", False),
        ("date_trunc(text, at)", False),
        ("ms + small", False),
        ("ms % 10", False),
        ("ms - ms", False),
        ("-ms", False),
        ("ms * -1", False),
        ("ms * 0", False),
        ("hour(at)", False),
        ("least(ms, 5)", False),
        ("CAST(ms AS TINYINT)", False),
        ("CAST(CAST(ms AS DECIMAL(4,2)) AS BIGINT)", False),
        ("CAST(ms AS STRING)", False),
        ("CASE WHEN ms > 5 THEN 5 ELSE ms END", False),
        ("ms & 7", False),
        ("if(ms > 5, 5, ms)", False),
        ("small", False),
    ],
)
def test_an_expression_passes_every_value_only_where_it_is_known_to_rise(text: str, is_known_to_rise: bool) -> None:
    term = derived_column(text, "ms", "at", "text", "small").term
    assert rises(term, lambda name: name in ("ms", "at", "text")) is is_known_to_rise


def test_an_order_by_what_repeats_closes_nothing_for_certain() -> None:
    columns = (
        Column("a", data_type("BIGINT")),
        Column("n", data_type("BIGINT"), derived_column("a % 10", "a")),
    )
    own = Stream("s", columns, schemes=(Ordered("n"),))
    other = stream("t", "n BIGINT", Ordered("n"))
    found = findings(query([source(own), source(other)], "s.n = t.n"))
    assert isinstance(found["s"], Bounded)
    assert isinstance(found["t"], Undecided)
    assert "s.n may never pass some value, for only Spark knows what a % 10 comes to" in each_told(found["t"].because)


LIMITED = {
    "CHECK": stream("b", "k BIGINT, n BIGINT", Ordered("n"), check("n < 100"), time="n"),
    "CHECK BETWEEN": stream("b", "k BIGINT, n BIGINT", Ordered("n"), check("n >= 1", "n <= 9"), time="n"),
    "WHERE": stream("b", "k BIGINT, n BIGINT", Ordered("n"), time="n", where=[where("n < 100")]),
    "type": stream("b", "k BIGINT, n SMALLINT", Ordered("n"), time="n"),
    "ARRIVES BY": stream("b", "k BIGINT, n BIGINT", check("n < 100"), time="n", arrives="n"),
}


@pytest.mark.parametrize("other", LIMITED.values(), ids=LIMITED)
def test_an_event_time_with_a_largest_value_gives_no_bound_and_no_fix_by_order(other: Stream) -> None:
    own = stream("a", "k BIGINT, n BIGINT", Ordered("n"), time="n")
    banded = query([source(own), source(other)], "a.k = b.k", "b.n <= a.n + 5")
    windowed = query([source(own, window=RangeWindow(number_of(5))), source(other)], "a.k = b.k")
    for of in (banded, windowed):
        found = findings(of)["a"]
        assert isinstance(found, Undecided)
        assert any(text.startswith("b.n never passes ") for text in each_told(found.because))
        assert not any("ORDERED BY n" in str(fix) for fix in found.fixes)


def test_a_filter_of_the_query_does_not_stop_the_clock() -> None:
    clocks = [stream(name, "k BIGINT, n BIGINT", Ordered("n"), time="n") for name in "ab"]
    of = query([source(s) for s in clocks], "a.k = b.k", "b.n <= a.n + 5", "b.n < 100")
    assert isinstance(findings(of)["a"], Bounded)


def test_groups_and_distinct_do_not_leave_by_a_clock_with_a_largest_value() -> None:
    ends = where("ts < 100")
    limited = stream("a", "k BIGINT, ts TIMESTAMP", Ordered("ts"), time="ts", where=[ends])
    for of, alias in (
        (query([source(limited)], select=[Aggregate("count")], group_by=[MINUTE, "a.k"]), "(groups)"),
        (query([source(limited)], select=["a.ts", "a.k"], distinct=True), "(distinct)"),
    ):
        found = findings(of)[alias]
        assert isinstance(found, Undecided)
        assert "a.ts never passes 100: ts < 100 in a" in each_told(found.because)
        assert found.fixes == ()


def test_a_window_over_a_limited_clock_bounds_neither_side() -> None:
    limited = stream("b", "k BIGINT, ts TIMESTAMP", Ordered("ts"), check("ts < 100"), time="ts")
    own = stream("a", "k BIGINT, ts TIMESTAMP", Ordered("ts"), time="ts")
    found = findings(query([source(own, window=recent(5)), source(limited, window=recent(5))], "a.k = b.k"))
    assert isinstance(found["a"], Undecided)
    assert isinstance(found["b"], Bounded)


@st.composite
def limited_queries(draw: st.DrawFn) -> Query:
    sources = []
    for name in "ab":
        schemes: list[Scheme] = [Ordered("n", draw(st.sampled_from([None, number_of(2)])))]
        if draw(st.booleans()):
            schemes.append(check(draw(st.sampled_from(["n <= 4", "n < 5", "n = 3", "n >= -1", "n <= k"]))))
        if draw(st.integers(0, 3)) == 0:
            schemes += [Ordered("k"), check("k <= 9")]
        window = RangeWindow(number_of(2)) if draw(st.booleans()) else None
        sources.append(source(stream(name, COLUMNS, *schemes, time="n"), window=window))
    conditions = [
        text for text in ("a.k = b.k", "b.n <= a.n + 1", "a.n <= b.n", "b.k < a.m", "a.n = b.n") if draw(st.booleans())
    ]
    return query(sources, *conditions)


@settings(max_examples=120, deadline=None)
@given(limited_queries(), st.integers(0, 2**32))
def test_a_stream_can_always_get_past_what_a_bound_names(of: Query, seed: int) -> None:
    graph = ClosingGraph(Facts(of))
    leaving = [
        alias
        for alias, finding in findings(of).items()
        if isinstance(finding, Bounded) and finding.means is Means.PURGE and graph.reach(alias).edges
    ]
    assume(leaving)
    world = World(of, seed)
    alias = world.random.choice(leaving)
    for _ in range(6):
        world.add(world.any_row(range(-1, 9)))
    for row in [a for a in world.history if a.stream == alias]:
        assert world.move_on(row, alias, graph.reach(alias))
