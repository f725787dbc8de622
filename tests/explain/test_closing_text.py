"""When a row can go, in the words of the verdict's bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.finding import Bounded, each_block
from penstock.compile import judged, load, plan_of
from penstock.errors import PenstockError
from penstock.explain.closing_text import closed_once, purge_rules, when_closed
from penstock.explain.reason_words import told
from penstock.plan.plan import Plan
from penstock.plan.planner import as_run, closings_of
from tests.explain.explained import BAND, explained, ordered


def test_the_plan_says_of_a_band_what_the_bound_says() -> None:
    of = ordered(f"SELECT a.k FROM a, b WHERE {BAND};")
    (plan,), (verdict,) = of.plans, of.verdicts
    (closer,) = plan.closers_between("a", "b")
    finding = verdict.streams[0].finding
    assert isinstance(finding, Bounded)
    assert when_closed(plan, closer) == "b.ts has passed a.ts + 9"
    assert told(finding.bound) == f"a row is kept until {when_closed(plan, closer)}"
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


def test_the_same_closing_has_the_same_words_in_the_verdict_and_in_the_plan() -> None:
    root = Path(__file__).parents[2]
    asked = 0
    for case in sorted([*(root / "tests" / "golden").rglob("*.sql"), *(root / "examples").rglob("*.sql")]):
        try:
            script = load(case)
        except PenstockError:
            continue  # A case of errors.
        for query in script.queries:
            verdict = judged(query)
            for (block, found), part in zip(
                each_block(query, verdict), plan_of(query, verdict).all_blocks, strict=True
            ):
                asked += _compared(closings_of(as_run(block, found), found), part)
    assert asked > 150


def _compared(graph: ClosingGraph, plan: Plan) -> int:
    """How many closings of single streams were found in both; where rows are merged the plan leaves some out."""
    asked = 0
    for alias in graph.aliases if not any(source.merge for source in plan.sources) else ():
        once = closed_once(plan, alias)
        for step in graph.reach(alias).edges:
            if step.sources == (alias,) and step.closing.way not in (Way.NEVER, Way.WINDOW):
                assert told(step.wait) in once[step.target].split(", or ")
                asked += 1
    return asked
