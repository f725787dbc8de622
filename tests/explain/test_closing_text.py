"""When a row can go, in the words of the verdict's bounds."""

from __future__ import annotations

import pytest

from penstock.analysis.finding import Bounded
from penstock.explain.closing_text import purge_rules, when_closed
from penstock.explain.reason_words import told
from tests.explain.explained import BAND, explained, ordered


def test_the_plan_says_of_a_band_what_the_bound_says() -> None:
    of = ordered(f"SELECT a.k FROM a, b WHERE {BAND};")
    (plan,), (verdict,) = of.plans, of.verdicts
    (closer,) = plan.closers_between("a", "b")
    finding = verdict.streams[0].finding
    assert isinstance(finding, Bounded)
    assert when_closed(plan, closer) == "b.ts has passed a.ts + 9"
    assert told(finding.bound) == f"a row leaves once {when_closed(plan, closer)}"
    assert any(when_closed(plan, closer) in rule for rule in purge_rules(plan, plan.by_alias["a"]))


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (", PRIMARY KEY (k)", "the row of p that it names has arrived"),
        (", CLUSTERED BY k WITHIN 2 ROWS", "the rows of p with its k have come and others have followed them"),
        (", PUNCTUATED ON (k) WHEN n = 1", "a punctuation of p has closed p.k = c.k"),
    ],
)
def test_promises_about_values_are_told_by_what_must_come(declared: str, says: str) -> None:
    of = explained(
        f"CREATE STREAM p (k BIGINT, n BIGINT{declared}); "
        "CREATE STREAM c (k BIGINT, FOREIGN KEY (k) REFERENCES p (k)); SELECT c.k FROM c, p WHERE c.k = p.k;"
    )
    (closer,) = of.plans[0].closers_between("c", "p")
    assert when_closed(of.plans[0], closer) == says
