"""Closings as edges: for whom, what must happen first, and what makes it so."""

from __future__ import annotations

import pytest

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.edges import declared_closings
from penstock.explain.reason_words import each_told, told
from tests.analysis.scripts import CLOCK, facts_of

JOINED = "SELECT a.k FROM a, b WHERE a.k = b.k"


@pytest.mark.parametrize(
    ("own", "other", "select", "way", "wait"),
    [
        (
            "k BIGINT",
            CLOCK,
            f"{JOINED} AND b.k = 1 AND a.k = 2",
            Way.NEVER,
            "it was read, for no row of b ever matches it",
        ),
        (CLOCK, CLOCK, f"{JOINED} AND b.n <= a.n + 3", Way.CLOCK, "b.n has passed a.n + 3"),
        (CLOCK, CLOCK, f"{JOINED} AND b.n <= a.n - 3", Way.CLOCK, "b.n has passed a.n - 3"),
        ("k BIGINT", "k BIGINT, ORDERED BY k", JOINED, Way.ORDER, "b.k has passed a.k"),
        (
            "k BIGINT, FOLLOWS b (k) ON (k) WITHIN 2 ROWS",
            "k BIGINT",
            JOINED,
            Way.FOLLOWS,
            "2 more rows of b have arrived",
        ),
        (
            "k BIGINT, FOLLOWS b (k) ON (k) WITHIN 1 ROWS",
            "k BIGINT",
            JOINED,
            Way.FOLLOWS,
            "1 more row of b has arrived",
        ),
        (
            "k BIGINT, FOREIGN KEY (k) REFERENCES b (k)",
            "k BIGINT, PRIMARY KEY (k)",
            JOINED,
            Way.KEY,
            "the row of b that it names has arrived",
        ),
        (
            "k BIGINT",
            "k BIGINT, x BOOLEAN, PUNCTUATED ON (k) WHEN x",
            JOINED,
            Way.PUNCTUATION,
            "a punctuation of b has closed b.k = a.k",
        ),
    ],
)
def test_each_way_says_what_must_happen_first(own: str, other: str, select: str, way: Way, wait: str) -> None:
    facts = facts_of(f"a ({own})", f"b ({other})", select=select)
    (closing,) = (c for c in declared_closings(facts, facts.query.by_alias["b"]) if c.way is way)
    assert closing.needs == (("a",),)
    assert told(closing.wait(("a",))) == wait


def test_rows_n_closes_every_other_stream_for_what_its_row_holds_together() -> None:
    facts = facts_of("a (k BIGINT)", "b (k BIGINT)", select="SELECT a.k FROM a [ROWS 4], b WHERE a.k = b.k")
    (closing,) = declared_closings(facts, facts.query.by_alias["b"])
    assert told(closing.wait(("a",))) == "4 more rows of a have arrived"
    assert each_told(closing.because) == ("[ROWS 4] on a: a row is out of reach once 4 more arrived",)
    assert not list(declared_closings(facts, facts.query.by_alias["a"]))


def test_one_closing_stands_for_every_choice_of_those_who_carry_a_value() -> None:
    facts = facts_of(
        "a (k BIGINT)",
        "b (k BIGINT, m BIGINT)",
        "c (k BIGINT, m BIGINT, x BOOLEAN, PUNCTUATED ON (k, m) WHEN x)",
        select="SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND b.m = c.m",
    )
    (closing,) = declared_closings(facts, facts.query.by_alias["c"])
    assert closing.needs == (("a", "b"), ("b",))
    assert told(closing.wait(("a", "b"))) == "a punctuation of c has closed c.k = a.k and c.m = b.m"


def test_an_order_with_a_largest_value_and_a_key_without_a_guarantee_close_nothing_for_certain() -> None:
    facts = facts_of("a (k TINYINT)", "b (k TINYINT, ORDERED BY k, PRIMARY KEY (k))", select=JOINED)
    assert [(c.way, c.certain) for c in declared_closings(facts, facts.query.by_alias["b"])] == [(Way.KEY, False)]
