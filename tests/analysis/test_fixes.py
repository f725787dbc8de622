"""Every fix is sufficient: with its declarations added, the entry that it stands under is bounded.

The fixes are read as objects from the analysis, added to the streams, and the query is checked anew. Queries are
random: up to four sources, keys, bands, windows, outer joins, DISTINCT and GROUP BY. That no smaller set will do is
shown by trying them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import Missing
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Unbounded, Undecided
from penstock.analysis.fixes import fixes_of
from penstock.explain.reason_words import each_told
from penstock.model.clauses import Aggregate, Source, TimeWindow
from penstock.model.predicates import NullTest
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import Cooccurs, Follows, Ordered, Scheme
from penstock.model.spans import Auto, Span, Unit, Window
from penstock.model.stream import Stream
from penstock.sql.more_declarations import with_declarations
from tests.analysis.build import check, findings, query, recent, ref, seconds, source, stream, where

NAMES = ("a", "b", "c", "d")


@st.composite
def open_queries(draw: st.DrawFn) -> Query:
    names = NAMES[: draw(st.integers(1, 4))]
    sources = []
    for name in names:
        ordered = (Ordered("ts", seconds(3)),) if draw(st.integers(0, 3)) == 0 else ()
        declared = stream(name, "k BIGINT, m BIGINT, ts TIMESTAMP", *ordered, time="ts")
        sources.append(source(declared, window=recent(5) if draw(st.integers(0, 3)) == 0 else None))
    exists: list[Existence] = []
    if len(sources) > 1 and draw(st.integers(0, 4)) == 0:
        held = sources.pop()
        exists.append(Existence(held, draw(st.booleans()), (where(f"{held.alias}.k = a.k"),)))
    tree: FromTree = Leaf("a")
    for index, member in enumerate(sources[1:]):
        before = sources[draw(st.integers(0, index))].alias
        texts = [f"{before}.{c} = {member.alias}.{c}" for c in "km" if draw(st.booleans())]
        if draw(st.booleans()):
            texts.append(f"{member.alias}.ts <= {before}.ts + 5 seconds")
        kind = draw(st.sampled_from([JoinKind.INNER, *JoinKind]))
        tree = Join(kind, tree, Leaf(member.alias), tuple(where(t) for t in texts))
    match draw(st.integers(0, 3)):
        case 0:
            return query(sources, tree=tree, exists=exists, select=["a.ts", "a.k"], distinct=True)
        case 1:
            window = TimeWindow(ref("a.ts"), seconds(60))
            return query(sources, tree=tree, exists=exists, select=[Aggregate("count")], group_by=[window, "a.k"])
        case _:
            return query(sources, tree=tree, exists=exists)


def _with(of: Query, added: list[tuple[str, Scheme]]) -> Query:
    def amended(member: Source) -> Source:
        extra = tuple(scheme for name, scheme in added if name == member.stream.name)
        return replace(member, stream=replace(member.stream, schemes=member.stream.schemes + extra))

    return of.with_block(
        replace(of.block, existences=tuple(replace(e, source=amended(e.source)) for e in of.existences)),
        tuple(amended(s) for s in of.sources),
    )


def _read(text: str, streams: list[Stream]) -> list[tuple[str, Scheme]]:
    """The declarations that a fix names, recognised by their text among all that could be meant."""
    names = [s.name for s in streams]
    known: dict[str, tuple[str, Scheme]] = {}
    for name in names:
        for column in ("k", "m", "ts"):
            for own in (Ordered(column, Auto()), check(NullTest(ref(column), is_null=False))):
                known[own.on(name)] = (name, own)
        for other in names:
            for columns in (("k",), ("m",), ("k", "m")):
                scheme = Follows(other, columns, columns, Auto())
                known[scheme.on(name)] = (name, scheme)
                near = Cooccurs(
                    columns, other, columns, Window(Span(Decimal(-1), Unit.HOUR), Span(Decimal(1), Unit.HOUR))
                )
                known[near.on(name)] = (name, near)
    return [known[part] for part in text.split("; ")]


@settings(max_examples=50, deadline=None)
@given(open_queries())
def test_adding_the_declarations_of_a_fix_bounds_its_entry(of: Query) -> None:
    for entry in check_query(of).streams:
        if isinstance(entry.finding, Unbounded | Undecided):
            for fix in entry.finding.fixes:
                added = _read(str(fix), [s.stream for s in of.all_sources])
                assert isinstance(findings(_with(of, added))[entry.alias], Bounded), fix


def suffices(graph: ClosingGraph, alias: str, declared: Iterable[Missing]) -> bool:
    added = frozenset(declared)
    return graph.reach(alias, added).is_complete and not graph.stuck(added)


@settings(max_examples=30, deadline=None)
@given(open_queries())
def test_no_fix_of_a_source_is_larger_than_the_smallest_that_brute_force_finds(of: Query) -> None:
    graph = ClosingGraph(Facts(of))
    # A fix by COOCCURS stands beside the others, and is as large as it is.
    missing = tuple(dict.fromkeys(m for c in graph.candidates for m in c.missing if not isinstance(m[1], Cooccurs)))
    for alias in graph.aliases:
        found = fixes_of(graph, (alias,))
        for fix in found:
            assert suffices(graph, alias, fix.declarations)
        fixes = [fix for fix in found if not any(isinstance(scheme, Cooccurs) for _, scheme in fix.declarations)]
        assert len({len(fix.declarations) for fix in fixes}) <= 1
        least = len(fixes[0].declarations) if fixes else 2
        for size in range(min(least, 3)):
            for smaller in combinations(missing, size):
                assert not suffices(graph, alias, smaller), (smaller, fixes)


def test_the_fixes_of_an_event_time_under_a_band_bound_both_streams_with_two_declarations() -> None:
    streams = [stream(n, "k BIGINT, ts TIMESTAMP", time="ts") for n in "ab"]
    found = findings(query([source(s) for s in streams], "a.k = b.k", "b.ts <= a.ts + 5 seconds"))
    assert isinstance(found["a"], Unbounded)
    assert isinstance(found["b"], Unbounded)
    assert found["a"].fixes == found["b"].fixes
    assert str(found["a"].fixes[0]) == "FOLLOWS a (k) ON (k) WITHIN AUTO ON b; ORDERED BY ts WITHIN AUTO ON b"
    assert all(len(fix.declarations) == 2 for fix in found["a"].fixes[:-1])
    assert str(found["a"].fixes[-1]) == (
        "COOCCURS (k) AND b (k) WINDOW [-1 HOUR, 1 HOUR] ON a; "
        "ORDERED BY ts WITHIN AUTO ON a; ORDERED BY ts WITHIN AUTO ON b"
    )


def test_a_stream_with_a_watermark_is_not_to_be_ordered_by_a_mere_join_key() -> None:
    plain, timed = stream("a", "k BIGINT, ts TIMESTAMP"), stream("b", "k BIGINT, ts TIMESTAMP", time="ts")
    found = findings(query([source(plain), source(timed)], "a.k = b.k"))["a"]
    assert isinstance(found, Unbounded)
    assert any("ORDERED BY k WITHIN AUTO ON a" in str(fix) for fix in found.fixes)
    assert not any("ORDERED BY k WITHIN AUTO ON b" in str(fix) for fix in found.fixes)


def test_ordered_clocks_need_only_be_said_how_far_they_lie_apart() -> None:
    streams = [stream(n, "k BIGINT, n BIGINT", Ordered("n"), time="n") for n in "ab"]
    found = findings(query([source(s) for s in streams], "a.k = b.k"))["a"]
    assert isinstance(found, Unbounded)
    assert str(found.fixes[-1]) == "COOCCURS (k) AND b (k) WINDOW [-1000, 1000] ON a"


def test_no_window_is_proposed_between_event_times_of_two_types() -> None:
    times, dates = stream("a", "k BIGINT, ts TIMESTAMP", time="ts"), stream("b", "k BIGINT, ts DATE", time="ts")
    for found in findings(query([source(times), source(dates)], "a.k = b.k")).values():
        assert isinstance(found, Unbounded)
        assert found.fixes
        assert not any("WINDOW" in str(fix) for fix in found.fixes)


def test_a_cross_product_has_no_fix_but_advice() -> None:
    streams = [stream(n, "k BIGINT") for n in "ab"]
    found = findings(query([source(s) for s in streams]))["a"]
    assert isinstance(found, Unbounded)
    assert found.fixes == ()
    assert "a window would bound it: a [ROWS n]" in each_told(found.because)


SCRIPTS = (
    "CREATE STREAM a (k BIGINT, ts TIMESTAMP, EVENT TIME ts);\n"
    "CREATE STREAM b (k BIGINT, ts TIMESTAMP, EVENT TIME ts);\n"
    "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts <= a.ts + INTERVAL 5 SECONDS;",
    "CREATE STREAM auctions (id BIGINT, seller BIGINT, PRIMARY KEY (id));\n"
    "CREATE STREAM bids (auction BIGINT, kind STRING, PUNCTUATED ON (kind) WHEN kind = 'closed');\n"
    "SELECT a.seller FROM auctions a, bids b WHERE a.id = b.auction;",
    "CREATE STREAM `odd name` (`a b` BIGINT, c BIGINT);\n"
    "CREATE STREAM s2 (`a b` BIGINT, c BIGINT, kind STRING, PUNCTUATED ON (c) WHEN kind = 'x; y');\n"
    "CREATE STREAM s3 (c BIGINT);\n"
    "SELECT s2.c FROM `odd name` o, s2, s3 WHERE o.`a b` = s2.`a b` AND o.c = s2.c AND s2.c = s3.c;",
    "CREATE STREAM a (k BIGINT, FOREIGN KEY (k) REFERENCES b (k));\n"
    "CREATE STREAM b (k BIGINT, m BIGINT);\n"
    "CREATE STREAM c (m BIGINT);\n"
    "SELECT c.m FROM a, b, c WHERE a.k = b.k AND b.m = c.m;",
)


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_fix_pasted_into_the_script_as_text_bounds_the_whole_query(text: str) -> None:
    verdict = penstock.check(penstock.parse(text))
    assert verdict.verdict == "unbounded"
    fixes = [fix for entry in verdict.streams for fix in getattr(entry.finding, "fixes", ())]
    assert fixes
    for fix in dict.fromkeys(fixes):
        more = {stream: [scheme.text for scheme in schemes] for stream, schemes in fix.by_stream.items()}
        pasted = with_declarations(text, more)
        assert penstock.check(penstock.parse(pasted)).verdict == "bounded", (fix, pasted)


def test_no_fix_names_a_column_that_only_the_query_makes() -> None:
    """CREATE STREAM does not know it: written into the script, the fix would be refused."""
    script = penstock.parse(
        "CREATE STREAM a (id BIGINT, ts TIMESTAMP, EVENT TIME ts);"
        "CREATE STREAM b (k STRING, ts TIMESTAMP, EVENT TIME ts);"
        "SELECT a.id, b.ts AS other FROM a JOIN b ON cast(a.id AS STRING) = lower(b.k);"
    )
    verdict = penstock.check(script)
    assert verdict.verdict != "bounded"
    fixes = [fix for state in verdict.streams if not isinstance(state.finding, Bounded) for fix in state.finding.fixes]
    assert not [scheme.text for fix in fixes for _, scheme in fix.declarations if "`" in scheme.text]
