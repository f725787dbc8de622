"""What is unbounded, and what stays undecided though nothing bounds it."""

from __future__ import annotations

import pytest

from penstock.analysis.check import check_query
from penstock.explain.reason_words import each_told
from tests.analysis.scripts import query_of

TWO = ("a (k BIGINT)", "b (k BIGINT)")


@pytest.mark.parametrize(
    ("select", "verdict"),
    [
        ("SELECT a.k FROM a, b WHERE a.k = b.k", "unbounded"),
        ("SELECT a.k FROM a, b WHERE a.k = b.k AND a.k % 2 = 0", "undecided"),
        ("SELECT DISTINCT a.k FROM a", "unbounded"),
        ("SELECT a.k FROM a, b WHERE a.k = b.k AND a.k = 1", "bounded"),
        ("SELECT x.k FROM a AS x, a AS y, b WHERE x.k = b.k AND y.k = b.k", "unbounded"),
    ],
)
def test_a_growing_input_decides(select: str, verdict: str) -> None:
    found = check_query(query_of(*TWO, select=select))
    assert found.verdict == verdict
    assert (found.witness is not None) is (verdict == "unbounded")


def test_what_stays_undecided_says_what_is_not_known() -> None:
    found = check_query(query_of(*TWO, select="SELECT a.k FROM a, b WHERE a.k = b.k AND a.k % 2 = 0"))
    assert "whether it grows is not known: only Spark can say which rows pass a.k % 2 = 0" in each_told(
        found.streams[0].finding.because
    )
