"""What is said of counts in place of a join: an offer where they could be, a reason where they could not."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.explain.counts_text import counts_items, offer, percent
from penstock.plan.counting import Observed
from tests.explain.explained import BAND, ordered

EXAMPLE = Path(__file__).parents[2] / "examples" / "syn_without_fin.sql"


def test_a_join_that_counts_nothing_is_not_spoken_of() -> None:
    of = ordered(f"SELECT a.k FROM a, b WHERE {BAND};")
    assert offer(of.verdicts[0].rewrite) is None
    assert counts_items(of.script.queries[0], of.verdicts[0].rewrite) == []


def test_a_grouped_join_that_cannot_be_counted_says_why() -> None:
    of = ordered(f"SELECT a.k, count(*) AS c FROM a, b WHERE {BAND} GROUP BY a.k;")
    ((label, lines),) = counts_items(of.script.queries[0], of.verdicts[0].rewrite)
    assert label == "not done"
    assert lines


def test_counts_that_replace_a_join_tell_rules_error_and_query() -> None:
    script = penstock.parse(EXAMPLE.read_text(encoding="utf-8"))
    query = script.queries[0]
    finding = penstock.check(script, query.name).rewrite
    items = dict(counts_items(query, finding, Observed(windows=3, error_observed=0.01)))
    assert {"done", "rules", "error", "observed", "sql"} <= set(items)
    assert any("3" in line for line in items["observed"])


def test_shares_are_percent() -> None:
    assert percent(0.05).startswith("5")
    assert percent(0.0).startswith("0")
