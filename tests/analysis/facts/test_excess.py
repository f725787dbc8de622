"""Excesses, and their oracle: the script written anew with the windows that ADAPT would come to.

A plan is made once; while it runs, declarations are widened, and an excess is evaluated with what was added. That must
be what a plan of the widened script says from the start, for every pair of columns, whichever declaration was widened
by how much, under inner and outer joins.
"""

from __future__ import annotations

import random

import pytest

import penstock
from penstock.analysis.facts.differences import Limit
from penstock.analysis.facts.excess import Allowance, Excess
from penstock.analysis.facts.together import Facts
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from tests.measure import size

NAMES = "abcd"


def _drawn(rng: random.Random) -> tuple[list[tuple[str, str, int, int]], str]:
    """Windows (own stream, other stream, low, high), and a SELECT."""
    windows = []
    for _ in range(rng.randint(1, 3)):
        own, other = rng.sample(NAMES, 2)
        low = rng.randint(-4, 2)
        windows.append((own, other, low, low + rng.randint(3, 6)))
    # One window for each pair: two of them may not name a declaration alike.
    kept = {frozenset((own, other)): (own, other, low, high) for own, other, low, high in windows}
    bands = []
    for _ in range(rng.randint(1, 3)):
        left, right = rng.sample(NAMES, 2)
        bands.append((right, f"{left}.n - {right}.n {rng.choice(('<', '<='))} {rng.randint(3, 12)}"))
    if rng.random() < 0.5:
        conditions = ["a.k = b.k", "b.k = c.k", "c.k = d.k", *(text for _, text in bands)]
        return list(kept.values()), f"SELECT a.k FROM a, b, c, d WHERE {' AND '.join(conditions)}"
    inner = [text for _, text in bands if not {"c", "d"} & set(text.replace(".n", "").split())]
    on = " AND ".join(["a.k = b.k", *inner])
    joined = f"a JOIN b ON {on} LEFT JOIN c ON b.k = c.k AND c.n - b.n <= {rng.randint(3, 12)} LEFT JOIN d ON d.k = a.k"
    return list(kept.values()), f"SELECT a.k FROM {joined}"


def _query(windows: list[tuple[str, str, int, int]], select: str, added: list[int]) -> Query:
    declared = dict.fromkeys(NAMES, "")
    for (own, other, low, high), by in zip(windows, added, strict=True):
        declared[own] += f", COOCCURS (k) AND {other} (k) WINDOW [{low - by}, {high + by}]"
    streams = [f"CREATE STREAM {n} (k BIGINT, n BIGINT, EVENT TIME n{declared[n]});" for n in NAMES]
    (query,) = penstock.parse(f"{' '.join(streams)} {select};").queries
    return query


@pytest.mark.measure
def test_an_excess_evaluated_as_widened_is_that_of_the_widened_script() -> None:
    rng = random.Random("widened")
    moved = 0
    for _ in range(size(60, 1_500)):
        windows, select = _drawn(rng)
        still, added = [0] * len(windows), [rng.choice((0, 1, 9)) for _ in windows]
        before, after = (Facts(_query(windows, select, by)) for by in (still, added))
        widened = {
            f"COOCCURS (k) AND {other} (k) WINDOW [{low}, {high}] ON {own}": by
            for (own, other, low, high), by in zip(windows, added, strict=True)
        }
        for i in NAMES:
            for j in NAMES:
                if i == j:
                    continue
                one, other = ColumnRef(i, "n"), ColumnRef(j, "n")
                here, there = before.of(i, j).bands, after.of(i, j).bands
                if here.contradiction:
                    continue
                excess = here.excess(one, other)
                limit = there.upper(one, other)
                assert (excess is None) == (limit is None)
                if excess is not None:
                    assert excess.limit() == here.upper(one, other)
                    assert excess.limit(widened) == limit
                    moved += excess.limit(widened) != excess.limit()
    assert moved > size(40, 1_000)


def test_what_rests_on_a_declaration_twice_is_widened_twice() -> None:
    excess = Excess(False, (Allowance(4, False, ("w", "w"), ("w", "w")), Allowance(9, True, ("x",), ())))
    assert excess.limit() == Limit(4)
    assert excess.limit({"w": 2}) == Limit(8)
    assert excess.limit({"w": 3}) == Limit(9, True)
    assert excess.is_declared
    assert not excess.is_direct


def test_equal_columns_exceed_each_other_by_nothing_whatever_is_widened() -> None:
    excess = Excess(True, (Allowance(0, False, ("a.k = b.k",), ()),))
    assert excess.limit({"w": 2}) == Limit(0)
    assert excess.is_declared
    assert not excess.is_direct
