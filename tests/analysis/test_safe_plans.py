"""Safe trees of joins: the paper's Figures 5 and 7, and brute force over all trees of small queries.

The brute force knows Definition 2 only: it tries every way to cut the streams of an operator into inputs, asks of
each operator whether its inputs reach each other by Definition 9 over edges between inputs, and recurses.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.analysis.safe_plans import SafeTree, safe_plans, safe_trees
from penstock.explain.reason_words import each_told
from tests.analysis.punctuated import cjq
from tests.analysis.test_safety_oracle import Case
from tests.analysis.test_safety_paper import CHAIN, CYCLE, THREE
from tests.measure import size

Block = frozenset[str]


def test_figure_5_and_7_no_tree_of_binary_joins_is_safe_and_the_single_three_way_join_is() -> None:
    graph = ClosingGraph(Facts(cjq(THREE, CYCLE, [("S1", "-+"), ("S2", "-+"), ("S3", "-+")])))
    assert each_told(safe_plans(graph)) == (
        "the single 3-way join is safe",
        "no tree of binary joins is safe, nor any other tree: only all streams together close each other",
    )


def test_a_chain_that_closes_both_ways_is_safe_as_a_tree_of_binary_joins() -> None:
    schemes = [("S1", "-+"), ("S2", "+-"), ("S2", "-+"), ("S3", "+-")]
    assert each_told(safe_plans(ClosingGraph(Facts(cjq(THREE, CHAIN, schemes))))) == (
        "the single 3-way join is safe",
        "so is this tree of binary joins: ((S1 ⋈ S2) ⋈ S3)",
    )


def test_of_an_unsafe_query_the_joins_that_are_safe_are_named() -> None:
    graph = ClosingGraph(Facts(cjq(THREE, CHAIN, [("S1", "-+"), ("S2", "+-")])))
    assert each_told(safe_plans(graph)) == ("no tree of joins is safe by promises", "safe is (S1 ⋈ S2)")


def _cuts(streams: tuple[str, ...]) -> Iterator[list[Block]]:
    """All ways to cut streams into blocks."""
    if not streams:
        yield []
        return
    first, *rest = streams
    for cut in _cuts(tuple(rest)):
        yield [frozenset({first}), *cut]
        for number, block in enumerate(cut):
            yield [*cut[:number], block | {first}, *cut[number + 1 :]]


def _closes_in_turn(case: Case, inputs: list[Block]) -> bool:
    within = frozenset().union(*inputs)
    of = {alias: block for block in inputs for alias in block}
    edges = [
        (frozenset(of[s] for s in sources), of[target])
        for sources, target in case.generalized_edges()
        if sources <= within and target in within
    ]
    for start in inputs:
        reached = {start}
        while more := {target for sources, target in edges if sources <= reached} - reached:
            reached |= more
        if len(reached) < len(inputs):
            return False
    return True


def _least_width(case: Case) -> int | None:
    """The least number of inputs with which some safe tree does; None if no tree is safe."""

    @cache
    def width(block: Block) -> int | None:
        if len(block) == 1:
            return 1
        found = []
        for cut in _cuts(tuple(sorted(block))):
            if len(cut) > 1 and _closes_in_turn(case, cut):
                below = [width(part) for part in cut]
                if None not in below:
                    found.append(max([len(cut), *(w for w in below if w is not None)]))
        return min(found, default=None)

    return width(frozenset(case.streams))


def _is_safe(case: Case, tree: SafeTree) -> bool:
    inputs = [frozenset(i.streams) for i in tree.inputs]
    return not inputs or (_closes_in_turn(case, inputs) and all(_is_safe(case, i) for i in tree.inputs))


class Ring(Case):
    """Streams in a ring, each closing the one before it, and some schemes more."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(seed)
        count = pick.choice((3, 4))
        self.streams = {f"S{n}": "AB" for n in range(count)}
        self.ties = [((f"S{n}", "B"), (f"S{(n + 1) % count}", "A")) for n in range(count)]
        self.schemes = [(f"S{n}", ("A",)) for n in range(count)]
        self.schemes += [(f"S{pick.randrange(count)}", pick.choice((("B",), ("A", "B")))) for _ in range(seed % 3)]


@pytest.mark.measure
def test_the_tree_that_is_found_is_safe_and_no_safe_tree_is_narrower() -> None:
    widths = set()
    for seed in range(size(150, 5000)):
        case = Ring(seed) if seed % 5 == 0 else Case(seed)
        trees = safe_trees(ClosingGraph(Facts(case.query)))
        assert all(_is_safe(case, tree) for tree in trees), seed
        least = _least_width(case)
        assert (least is None) is (len(trees) > 1), seed
        if least is not None:
            assert trees[0].widest == least, seed
            widths.add(least)
    assert widths >= {2, 3, 4}
