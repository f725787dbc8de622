"""Whether rows keep what is declared about arrival, beside DESIGN section 1 read word by word."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.witness.declarations_hold import Arrived, broken, keeps_arrival
from penstock.model.schemes import Clustered, Follows, Ordered, Scheme
from penstock.model.spans import Rows, Span
from tests.analysis.build import stream
from tests.measure import size

_VALUES = st.lists(st.none() | st.integers(0, 4), max_size=9)
RANDOM = settings(max_examples=size(200, 5_000), deadline=None)


def _kept(scheme: Scheme, values: list[int | None]) -> bool:
    one = stream("s", "x BIGINT", scheme)
    rows = [Arrived(one, {} if value is None else {"x": value}) for value in values]
    return keeps_arrival(scheme, list(enumerate(rows)), rows)


@RANDOM
@given(_VALUES, st.integers(0, 3))
def test_ordered_within_rows(values: list[int | None], k: int) -> None:
    """`a < m` is closed, m = the largest a with at least k arrivals after it (before the row that is looked at)."""
    expected = True
    for place, value in enumerate(values):
        closed = [v for i, v in enumerate(values[:place]) if v is not None and place - i - 1 >= k]
        expected &= value is None or not closed or value >= max(closed)
    assert _kept(Ordered("x", Rows(k)), values) is expected


@RANDOM
@given(_VALUES, st.integers(0, 3))
def test_ordered_within_a_span(values: list[int | None], d: int) -> None:
    """`ts < max(ts) - d` is closed."""
    expected = True
    for place, value in enumerate(values):
        seen = [v for v in values[:place] if v is not None]
        expected &= value is None or not seen or value >= max(seen) - d
    assert _kept(Ordered("x", Span(Decimal(d))), values) is expected


@RANDOM
@given(_VALUES, st.integers(0, 3))
def test_clustered(values: list[int | None], k: int) -> None:
    """`a = v` is closed once more than k tuples with a <> v followed the first v; NULL differs from every value."""
    expected = True
    for place, value in enumerate(values):
        if value is not None and value in values[:place]:
            first = values.index(value)
            expected &= sum(other != value for other in values[first:place]) <= k
    assert _kept(Clustered("x", Rows(k)), values) is expected


@RANDOM
@given(st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 2)), max_size=9), st.integers(0, 3))
def test_follows_within_rows(arrivals: list[tuple[bool, int | None]], k: int) -> None:
    """On T, `b = s.a` is closed once k tuples of T arrived after s."""
    scheme = Follows("t", ("y",), ("x",), Rows(k))
    child, parent = stream("s", "x BIGINT", scheme), stream("t", "y BIGINT")
    rows = []
    for is_child, value in arrivals:
        named = {} if value is None else {"x" if is_child else "y": value}
        rows.append(Arrived(child if is_child else parent, named))
    own = [(place, row) for place, row in enumerate(rows) if row.stream is child]
    expected = True
    for place, (is_child, value) in enumerate(arrivals):
        later = [v for other, v in arrivals[place + 1 :] if not other]
        expected &= not is_child or value is None or value not in later[k:]
    assert keeps_arrival(scheme, own, rows) is expected


def test_a_growing_input_must_keep_an_order_as_if_nothing_were_ever_late() -> None:
    one = stream("s", "x BIGINT", Ordered("x", Rows(5)))
    assert broken([Arrived(one, {"x": 1}), Arrived(one, {"x": 2})]) is None
    assert broken([Arrived(one, {"x": 2}), Arrived(one, {"x": 1})]) == "ORDERED BY x WITHIN 5 ROWS ON s"
