"""What a Spark user would change to bound a job: each offer is bounded, and said as it is written."""

from __future__ import annotations

import pytest

import penstock
from penstock.frames.job_fixes import JobFix, usual_fixes
from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobExpression,
    JobJoin,
    JobLeaf,
    JobProject,
    JobRelation,
    JobUnion,
)
from penstock.frames.job_script import script_of
from tests.frames.test_job_script import text

ORDERS = JobLeaf(
    0,
    "orders",
    (JobColumn(1, "id", "BIGINT"), JobColumn(2, "seen", "TIMESTAMP"), JobColumn(3, "ordered", "TIMESTAMP")),
)
PAYMENTS = JobLeaf(1, "payments", (JobColumn(11, "order_id", "BIGINT"), JobColumn(12, "paid", "TIMESTAMP")))
TIMELESS = JobLeaf(2, "plain", (JobColumn(21, "k", "BIGINT"),))
SEEN = JobLeaf(3, "views", (JobColumn(51, "order_id", "BIGINT"), JobColumn(52, "seen", "TIMESTAMP")))
SAME = text("#1 = #11")
MARKS = ('orders.withWatermark("ordered", "10 minutes")', 'payments.withWatermark("paid", "10 minutes")')
RENAMED = JobProject(
    PAYMENTS, ((JobColumn(31, "k", "BIGINT"), text("#11")), (JobColumn(32, "t", "TIMESTAMP"), text("#12")))
)


def bounded(relation: JobRelation, ordered: dict[int, set[str]] | None = None) -> JobFix | None:
    for fix in usual_fixes(relation, ordered or {}):
        made = script_of(fix.relation, [fix.relation.columns[0].number])
        if penstock.check(penstock.parse(made.text)).verdict == "bounded":
            return fix
    return None


OFFERS: dict[str, tuple[JobRelation, tuple[str, ...] | None]] = {
    "watermarks are enough where times are compared": (
        JobJoin("INNER", ORDERS, PAYMENTS, (SAME, text("#12 >= #3"), text("#12 <= #3 + INTERVAL 1 HOUR"))),
        MARKS,
    ),
    "times are compared too": (
        JobJoin("LEFT OUTER", ORDERS, PAYMENTS, (SAME,)),
        (
            'orders.withWatermark("seen", "10 minutes")',
            MARKS[1],
            "in the condition of the left outer join: AND paid BETWEEN "
            "seen - INTERVAL 1 HOUR AND seen + INTERVAL 1 HOUR",
        ),
    ),
    "under another name": (
        JobJoin("INNER", ORDERS, RENAMED, (text("#1 = #31"),)),
        (
            'orders.withWatermark("seen", "10 minutes")',
            MARKS[1],
            "in the condition of the inner join: AND t BETWEEN seen - INTERVAL 1 HOUR AND seen + INTERVAL 1 HOUR",
        ),
    ),
    "times that are called the same are told apart": (
        JobJoin("INNER", ORDERS, SEEN, (text("#1 = #51"),)),
        (
            'orders.withWatermark("seen", "10 minutes")',
            'views.withWatermark("seen", "10 minutes")',
            "in the condition of the inner join: AND views.seen BETWEEN "
            "orders.seen - INTERVAL 1 HOUR AND orders.seen + INTERVAL 1 HOUR",
        ),
    ),
    "groups get a window": (
        JobAggregate(PAYMENTS, (text("#11"),), ((JobColumn(40, "n", "BIGINT"), text("count(1)")),)),
        (MARKS[1], 'groupBy(F.window("paid", "10 minutes"), …)'),
    ),
    "a stream without a time has none to compare": (JobJoin("INNER", ORDERS, TIMELESS, (text("#1 = #21"),)), None),
    "a union": (
        JobJoin(
            "INNER",
            JobUnion((RENAMED, RENAMED), RENAMED.columns),
            ORDERS,
            (text("#1 = #31"), text("#32 = #3")),
        ),
        (MARKS[1], MARKS[0]),
    ),
}


@pytest.mark.parametrize("name", OFFERS)
def test_the_first_offer_that_bounds_the_job(name: str) -> None:
    relation, lines = OFFERS[name]
    found = bounded(relation)
    assert (None if found is None else found.lines) == lines


def test_what_is_promised_in_order_needs_no_watermark() -> None:
    job = JobJoin("INNER", ORDERS, PAYMENTS, (SAME, JobExpression("penstock_column_12 = penstock_column_2")))
    offers = list(usual_fixes(job, {0: {"seen"}}))
    assert [fix.lines for fix in offers] == [(MARKS[1],)]
