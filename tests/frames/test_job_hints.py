"""Budgets, errors and policies of a job as arguments, and in its script."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import UsageError
from penstock.frames.job_hints import JobHints, hints_text, late_policy
from penstock.frames.job_relations import JobJoin, JobUnion
from penstock.frames.job_script import script_of
from tests.frames.test_job_script import AGAIN, ORDERS, PAYMENTS, SAME

PRINTED: list[tuple[JobHints, str]] = [
    ({}, ""),
    ({"budget": "100000 rows", "evict": "prob"}, "/*+ BUDGET(100000 ROWS), EVICT(prob) */ "),
    ({"budget": "64 MB", "archive": "it's"}, "/*+ BUDGET(64 MB), ARCHIVE('it\\'s') */ "),
    ({"budget": "1 kb", "value": "orders.id"}, "/*+ BUDGET(1 KB), VALUE(orders.id) */ "),
    ({"shed_input": True, "error": "5 percent with bounds"}, "/*+ SHED(INPUT), ERROR(5 PERCENT WITH BOUNDS) */ "),
    ({"monitor": (1.5, 0.5, 100)}, "/*+ MONITOR(1.5, 0.5, 100) */ "),
]


@pytest.mark.parametrize(("hints", "text"), PRINTED, ids=[text or "none" for _, text in PRINTED])
def test_hints_print_as_the_language_has_them_and_are_read_again(hints: JobHints, text: str) -> None:
    assert hints_text(hints) == text
    made = script_of(JobJoin("INNER", ORDERS, PAYMENTS, (SAME,)), [1], (), hints)
    assert made.text.count(text) >= 1
    penstock.parse(made.text)


def test_a_budget_bounds_a_job() -> None:
    made = script_of(JobJoin("INNER", ORDERS, PAYMENTS, (SAME,)), [1], (), {"budget": "10 rows"})
    verdict = penstock.check(penstock.parse(made.text))
    assert (verdict.verdict, verdict.strategy) == ("bounded", "budget")


def test_the_policy_of_late_rows_stands_with_the_watermark() -> None:
    made = script_of(JobJoin("INNER", ORDERS, PAYMENTS, (SAME,)), [1], (), {"on_violation": "quarantine"})
    assert "WITHIN 1 MINUTE ON VIOLATION QUARANTINE" in made.text
    assert late_policy({}) == "TRUST"


def test_what_is_no_hint_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no argument budgets") as caught:
        hints_text({"budgets": "1 row"})  # type: ignore[typeddict-unknown-key]
    assert "did you mean budget?" in str(caught.value)
    with pytest.raises(UsageError, match="evict is one of gain, prob, life, rand, not fifo"):
        hints_text({"evict": "fifo"})
    with pytest.raises(UsageError, match="on_violation is one of fail, adapt, quarantine, trust, recover, not drop"):
        late_policy({"on_violation": "drop"})
    with pytest.raises(UsageError, match='error is such as "5 percent" or "5 percent with bounds", not \'5\''):
        hints_text({"error": "5"})
    with pytest.raises(UsageError, match="this job unites several"):
        script_of(JobUnion((ORDERS, AGAIN), ORDERS.columns), [1], (), {"budget": "1 rows"})
