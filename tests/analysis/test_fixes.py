"""Every fix is sufficient: with its declarations added, the entry that it stands under is bounded.

The fixes are read as objects from the analysis, added to the streams, and the query is checked anew. Queries are
random: up to four sources, keys, bands, windows, outer joins, DISTINCT and GROUP BY. That no part of a fix can be
left out is shown too.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.analysis.closing import ClosingGraph
from penstock.analysis.combination import Combinations
from penstock.analysis.finding import Bounded, Undecided
from penstock.analysis.fixes import fixes_of, text_of
from penstock.model.query import Aggregate, Existence, FromTree, Join, JoinKind, Leaf, Query, Source, TimeWindow
from penstock.model.schemes import Follows, Ordered, Scheme
from penstock.model.spans import Auto
from penstock.model.stream import Stream
from tests.analysis.build import check, findings, opaque, query, recent, ref, seconds, source, stream, where

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

    return replace(
        of,
        sources=tuple(amended(s) for s in of.sources),
        existences=tuple(replace(e, source=amended(e.source)) for e in of.existences),
    )


def _read(text: str, streams: list[Stream]) -> list[tuple[str, Scheme]]:
    """The declarations that a fix names, recognised by their text among all that could be meant."""
    names = [s.name for s in streams]
    known: dict[str, tuple[str, Scheme]] = {}
    for name in names:
        for column in ("k", "m", "ts"):
            for own in (Ordered(column, Auto()), check(opaque(f"{column} IS NOT NULL", column))):
                known[own.on(name)] = (name, own)
        for other in names:
            for columns in (("k",), ("m",), ("k", "m")):
                scheme = Follows(other, columns, columns, Auto())
                known[scheme.on(name)] = (name, scheme)
    return [known[part] for part in text.split("; ")]


@settings(max_examples=150, deadline=None)
@given(open_queries())
def test_adding_the_declarations_of_a_fix_bounds_its_entry(of: Query) -> None:
    for entry in check_query(of).streams:
        if isinstance(entry.finding, Undecided):
            for fix in entry.finding.fixes:
                added = _read(fix, [s.stream for s in of.all_sources])
                assert isinstance(findings(_with(of, added))[entry.alias], Bounded), fix


@settings(max_examples=80, deadline=None)
@given(open_queries())
def test_no_part_of_a_fix_can_be_left_out(of: Query) -> None:
    graph = ClosingGraph(Combinations(of))
    for alias in graph.aliases:
        for fix in fixes_of(graph, alias):
            for part in fix:
                rest = frozenset(other for other in fix if other != part)
                assert not graph.reach(alias, rest).is_complete, text_of(fix)


def test_an_event_time_under_a_band_is_to_be_ordered_before_keys_are_to_follow() -> None:
    streams = [stream(n, "k BIGINT, ts TIMESTAMP", time="ts") for n in "ab"]
    found = findings(query([source(s) for s in streams], "a.k = b.k", "b.ts <= a.ts + 5 seconds"))["a"]
    assert isinstance(found, Undecided)
    assert found.fixes == (
        "ORDERED BY ts WITHIN AUTO ON b",
        "FOLLOWS b (k) ON (k) WITHIN AUTO ON a",
        "ORDERED BY k WITHIN AUTO ON b",
    )


def test_a_cross_product_has_no_fix_but_advice() -> None:
    streams = [stream(n, "k BIGINT") for n in "ab"]
    found = findings(query([source(s) for s in streams]))["a"]
    assert isinstance(found, Undecided)
    assert found.fixes == ()
    assert "a window would bound it: a [ROWS n]" in found.because
