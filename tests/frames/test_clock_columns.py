"""Columns that are worked out of clocks, said over these where that is the same."""

from __future__ import annotations

import pytest

from penstock.frames.clock_columns import ClockColumns, clock_columns, projected
from penstock.frames.job_relations import (
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobProject,
    JobRelation,
    JobUnion,
)

K, TS, H = JobColumn(1, "k", "BIGINT"), JobColumn(2, "ts", "TIMESTAMP", 3000), JobColumn(3, "h", "TIMESTAMP")
OTHER = JobColumn(4, "ts", "TIMESTAMP", 3000)
A, B = JobLeaf(0, "a", (K, TS, H)), JobLeaf(1, "b", (OTHER,))
HOUR = JobExpression("date_trunc('HOUR', penstock_column_2)")
LEAVES = ClockColumns(frozenset({2, 4}), {3: HOUR})
ASKED = JobExpression("(penstock_column_3 = penstock_column_1)")
SAID = "((date_trunc('HOUR', penstock_column_2)) = penstock_column_1)"


def test_a_condition_reads_the_clock() -> None:
    for relation in (A, JobFilter(A, (ASKED,)), JobDistinct(A), JobJoin("LEFT OUTER", A, B, ())):
        assert clock_columns(relation, LEAVES).said(ASKED).text == SAID


@pytest.mark.parametrize(
    "relation", [JobJoin("RIGHT OUTER", A, B, ()), JobJoin("FULL OUTER", A, B, ()), JobUnion((A, A), A.columns)]
)
def test_not_where_the_columns_may_be_others(relation: JobRelation) -> None:
    assert clock_columns(relation, LEAVES).said(ASKED) is ASKED


def test_columns_are_known_under_other_names_and_where_they_are_worked_out_above() -> None:
    day, time = JobColumn(5, "day", "DATE"), JobColumn(6, "t", "TIMESTAMP", 3000)
    above = JobProject(A, ((time, JobExpression.of(TS)), (day, JobExpression("to_date(penstock_column_3)"))))
    known = clock_columns(above, LEAVES)
    assert known.clocks == {6}
    asked = JobExpression("penstock_column_5 > penstock_column_6")
    assert known.said(asked).text == "(to_date((date_trunc('HOUR', penstock_column_6)))) > penstock_column_6"


def test_a_column_whose_clock_is_left_behind_says_what_it_is() -> None:
    outputs = ((K, JobExpression.of(K)), (H, JobExpression.of(H)))
    assert projected(A, outputs, LEAVES).outputs[1][1] == HOUR
    whole = (*outputs, (TS, JobExpression.of(TS)))
    assert projected(A, whole, LEAVES) == JobProject(A, whole)


def test_what_nobody_can_say_is_known_as_that_whatever_is_made_of_it() -> None:
    leaves = ClockColumns(frozenset({2}), {3: None})
    made = JobColumn(7, "made", "TIMESTAMP")
    above = JobProject(A, ((made, JobExpression("penstock_column_3 + INTERVAL '01' HOUR")),))
    assert clock_columns(above, leaves).unsaid(JobExpression.of(made)) == {7}
    assert clock_columns(A, leaves).said(ASKED) is ASKED
