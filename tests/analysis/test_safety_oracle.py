"""SAFETY's graphs against two oracles, on random streams, predicates and punctuation scheme sets.

The first is Definition 9 as written, over generalized edges that are enumerated one for each choice of partners, after
the equalities were closed by brute force. The second is Definition 4 itself, and knows no graph. Whatever finite set
of punctuations comes, it closes at most the values that are there; so take them all: the value 0 stands for every old
value, 1 for a new one, and a new row is allowed unless all columns of a scheme are 0 in it. A stored row is needed
again iff some other streams can get new rows that are allowed, the rest standing with old rows, such that every
predicate holds. With two values for each column that is tried out in full.
"""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.model.query import Query
from tests.analysis.punctuated import cjq
from tests.measure import size

Ties = list[tuple[tuple[str, str], tuple[str, str]]]
Schemes = list[tuple[str, tuple[str, ...]]]


class Case:
    """A random query, kept apart from the model."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(seed)
        self.streams = {f"S{n}": "ABC"[: pick.choice((1, 2, 2, 3))] for n in range(1, pick.choice((2, 3, 3, 4)) + 1)}
        names = list(self.streams)
        self.ties: Ties = []
        for number, name in enumerate(names[1:], 1):
            # Mostly connected; now and then a cross product.
            for other in sorted({names[pick.randrange(number)] for _ in range(pick.choice((1, 1, 2)))}):
                if pick.random() < 0.95:
                    self.ties.append(
                        ((other, pick.choice(self.streams[other])), (name, pick.choice(self.streams[name])))
                    )
        for _ in range(pick.choice((0, 0, 1, 2))):
            one, other = pick.sample(names, 2)
            self.ties.append(((one, pick.choice(self.streams[one])), (other, pick.choice(self.streams[other]))))
        self.schemes: Schemes = []
        for _ in range(pick.randrange(0, 4 * len(names) + 1)):
            name = pick.choice(names)
            width = pick.randrange(1, len(self.streams[name]) + 1)
            self.schemes.append((name, tuple(sorted(pick.sample(self.streams[name], width)))))

    @property
    def query(self) -> Query:
        patterns = [
            (name, "".join("+" if a in columns else "-" for a in self.streams[name])) for name, columns in self.schemes
        ]
        return cjq(self.streams, (f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in self.ties), patterns)

    def equal(self) -> dict[tuple[str, str], set[tuple[str, str]]]:
        """The columns that equal each column, by adding pairs until nothing changes."""
        every = [(s, a) for s, attributes in self.streams.items() for a in attributes]
        found = {column: {column} for column in every}
        changed = True
        while changed:
            changed = False
            for one, other in self.ties:
                both = found[one] | found[other]
                for column in both:
                    if found[column] != both:
                        found[column] = set(both)
                        changed = True
        return found

    def generalized_edges(self) -> set[tuple[frozenset[str], str]]:
        """Definition 8, corrected: one edge for each choice of partners, and none if a column has no partner."""
        equal = self.equal()
        edges = set()
        for target, columns in self.schemes:
            partners = [{s for s, _ in equal[target, column] if s != target} for column in columns]
            edges |= {(frozenset(choice), target) for choice in product(*partners)}
        return edges

    def reachable(self, start: str) -> set[str]:
        """Definition 9."""
        reached = {start}
        edges = self.generalized_edges()
        while True:
            more = {target for sources, target in edges if sources <= reached} - reached
            if not more:
                return reached
            reached |= more

    def is_needed_again(self, start: str) -> bool:
        """Definition 4, by trying all new rows."""
        others = [name for name in self.streams if name != start]
        for count in range(1, len(others) + 1):
            for new in combinations(others, count):
                columns = [(s, a) for s in new for a in self.streams[s]]
                for values in product((0, 1), repeat=len(columns)):
                    given = dict(zip(columns, values, strict=True))
                    fits = all(given.get(one, 0) == given.get(other, 0) for one, other in self.ties)
                    closed = any(s in new and not any(given[s, c] for c in scheme) for s, scheme in self.schemes)
                    if fits and not closed:
                        return True
        return False


@pytest.mark.measure
def test_check_agrees_with_definition_9_and_definition_4_on_random_graphs() -> None:
    safe = unsafe = 0
    for seed in range(size(150, 6000)):
        case = Case(seed)
        verdict = check_query(case.query)
        streams = dict(verdict.purge.streams)
        for name in case.streams:
            reaches_all = case.reachable(name) == set(case.streams)
            assert streams[name] is reaches_all, (seed, name)
            assert case.is_needed_again(name) is not reaches_all, (seed, name)
        assert verdict.purge.safe is all(streams.values())
        assert (verdict.verdict == "bounded") is verdict.purge.safe, seed
        assert (verdict.witness is None) is verdict.purge.safe, seed
        safe += verdict.verdict == "bounded"
        unsafe += verdict.verdict == "unbounded"
    # Both answers must be common, or the agreement says little.
    assert min(safe, unsafe) * 12 > safe + unsafe


@pytest.mark.measure
def test_definition_11_corrected_agrees_with_definition_10_on_random_graphs() -> None:
    for seed in range(size(150, 6000)):
        case = Case(seed)
        is_strongly_connected = all(case.reachable(name) == set(case.streams) for name in case.streams)
        assert (len(ClosingGraph(Facts(case.query)).components()) == 1) is is_strongly_connected, seed
