"""A stream joined with itself: a source that another covers is left out, and the answer stays."""

from __future__ import annotations

import pytest

from penstock.analysis.memory.self_joins import covered_sources, folded, has_self_join
from tests.analysis.memory.queries import query

PAIR = "SELECT DISTINCT x.a FROM s AS x, s AS y WHERE {}"


def test_whether_a_stream_comes_twice() -> None:
    assert has_self_join(query(PAIR.format("x.a = y.a")))
    assert not has_self_join(query("SELECT s.a FROM s, r WHERE s.a = r.a"))


@pytest.mark.parametrize(
    ("where", "covered"),
    [
        ("x.a = y.a", True),
        ("x.a = y.a AND y.b > 3 AND x.b > 3", True),
        ("x.a = y.a AND x.b > 3", True),
        ("x.a = y.a AND y.b > 3", False),
        ("x.a < y.a", False),
    ],
)
def test_what_covers_what(where: str, covered: bool) -> None:
    assert (("y", "x") in covered_sources(query(PAIR.format(where)))) is covered


def test_what_is_covered_is_gone_and_its_conditions_with_it() -> None:
    before = query(PAIR.format("x.a = y.a AND x.b > 3"))
    after = folded(before, [("y", "x")])
    assert [s.alias for s in after.sources] == ["x"]
    assert "x.b > 3" in [str(p) for p in after.predicates]
    assert all("y." not in str(p) for p in after.predicates)
