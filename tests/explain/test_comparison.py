"""A comparison of both ways, told in text and as a page."""

from __future__ import annotations

import pytest

from penstock.explain.comparison import AnswersCompared, JobComparison, WayRun

SAME = AnswersCompared(12, 0, 0, None, 0)
BOTH = JobComparison(
    300,
    WayRun((100, 100, 100, 0), (9.0, 2.0, 2.0, 1.0), (80, 120, 160, 40)),
    WayRun((100, 100, 100), (5.0, 0.5, 0.5), (8, 20, 10)),
    SAME,
)


def test_it_prints_as_a_table_without_the_first_batch_in_the_rate() -> None:
    assert str(BOTH) == (
        "both ways on the same 300 rows, in 3 batches\n\n"
        "                  rows/s  seconds  stored at most  at the end\n"
        "Spark's own plan      40     14.0             160          40\n"
        "adopted              200      6.0              20          10\n"
        "ratio               5.0x                    1/8.0            \n\n"
        "answers  equal: the same 12 rows"
    )


def test_a_page_has_the_table_and_the_plot() -> None:
    page = BOTH._repr_html_()
    assert "<td>Spark&#x27;s own plan</td><td>40</td>" in page
    assert page.endswith("</svg>")


def test_a_job_that_stores_nothing_has_no_ratio() -> None:
    none = JobComparison(1, WayRun((1,), (0.0,), (1,)), WayRun((1,), (1.0,), (0,)), SAME)
    assert none.state_ratio is None
    assert none.speed_ratio == 0
    assert "none" in str(none)


@pytest.mark.parametrize(
    ("answers", "are_equal", "said"),
    [
        (SAME, True, "equal: the same 12 rows"),
        (AnswersCompared(12, 0, 0, None, 0, ("k", "t")), True, "equal: the same 12 rows; compared by k, t: which of"),
        (AnswersCompared(12, 0, 2, 0, 0), True, "equal: 10 rows, and 2 more that Spark holds back"),
        (AnswersCompared(12, 0, 2, 1, 0), False, "NOT EQUAL: 1 of 2 rows that Spark did not emit are not in the"),
        (AnswersCompared(12, 0, 2, None, 0), False, "NOT EQUAL: 2 rows are more than Spark emitted"),
        (AnswersCompared(12, 3, 0, None, 5), False, "NOT EQUAL: 3 rows of Spark's are lacking; 5 rows came later"),
    ],
)
def test_answers_are_equal_if_spark_only_holds_some_back(answers: AnswersCompared, are_equal: bool, said: str) -> None:
    assert answers.are_equal is are_equal
    assert str(answers).startswith(said)
