"""What fixes the columns of a punctuation: columns of others, a constant, few values; and what narrows a scheme."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.closings.punctuated_columns import PunctuatedColumn, narrowed, punctuated_columns
from penstock.analysis.facts.together import Facts
from penstock.explain.reason_words import told
from penstock.model.schemes import Punctuated

OTHERS = "CREATE STREAM s (k BIGINT, m BIGINT); CREATE STREAM u (k BIGINT);"


def _columns(declared: str, select: str) -> tuple[PunctuatedColumn, ...]:
    script = f"{OTHERS} CREATE STREAM t (k BIGINT, m BIGINT, x BIGINT, kind STRING, {declared}); {select};"
    (query,) = penstock.parse(script).queries
    source = query.by_alias["t"]
    (scheme,) = (s for s in source.stream.schemes if isinstance(s, Punctuated))
    return punctuated_columns(Facts(query), source, scheme)


def test_equalities_are_closed_transitively() -> None:
    (column,) = _columns("PUNCTUATED ON (k) WHEN kind = 'end'", "SELECT s.k FROM s, t, u WHERE s.k = t.k AND s.k = u.k")
    assert [str(ref) for ref in column.equals] == ["s.k", "u.k"]
    assert column.constant is None
    assert column.values is None


def test_under_an_outer_join_only_what_holds_where_the_two_stand_together_counts() -> None:
    joined = "SELECT s.k FROM s LEFT JOIN t ON s.k = t.k LEFT JOIN u ON u.k = s.k"
    (column,) = _columns("PUNCTUATED ON (k) WHEN kind = 'end'", joined)
    assert [str(ref) for ref in column.equals] == ["s.k", "u.k"]
    joined = "SELECT s.k FROM s LEFT JOIN t ON s.k = t.k LEFT JOIN u ON u.k = s.m"
    (column,) = _columns("PUNCTUATED ON (k) WHEN kind = 'end'", joined)
    assert [str(ref) for ref in column.equals] == ["s.k"]


def test_a_filter_or_a_check_fixes_what_no_other_stream_carries() -> None:
    select = "SELECT s.k FROM s, t WHERE s.k = t.k AND t.m = 3 AND t.x IS NOT NULL"
    k, m, x = _columns("PUNCTUATED ON (k, m, x) WHEN kind = 'end', CHECK (x BETWEEN 1 AND 4)", select)
    assert [str(ref) for ref in k.equals] == ["s.k"]
    assert str(m.constant) == "t.m = 3"
    assert (m.values, x.values, x.constant) == (1, 4, None)


def test_a_column_that_may_be_null_is_not_fixed_by_few_values() -> None:
    _, x = _columns(
        "PUNCTUATED ON (k, x) WHEN kind = 'end', CHECK (x BETWEEN 1 AND 4)", "SELECT s.k FROM s, t WHERE s.k = t.k"
    )
    assert x.values is None


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("kind = 'end'", None),
        ("kind = 'end' AND k IS NOT NULL", None),
        ("k > 5", "only rows with k > 5 are punctuations, so other values of k are never closed"),
        ("m > 5 AND m < 2", "no such punctuation can come: no row of t has m > 5 and m < 2"),
    ],
)
def test_a_when_that_reads_a_column_of_on_closes_only_some_values(when: str, why: str | None) -> None:
    (stream,) = penstock.parse(
        f"CREATE STREAM t (k BIGINT, m BIGINT, kind STRING, PUNCTUATED ON (k) WHEN {when});"
    ).streams
    (scheme,) = (s for s in stream.schemes if isinstance(s, Punctuated))
    found = narrowed(scheme, stream)
    assert (None if found is None else told(found)) == why
