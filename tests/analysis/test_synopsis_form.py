"""What is kept of a source whose rows are merged: how many rows, and what each is."""

from __future__ import annotations

import pytest

from penstock.analysis.synopsis_form import ABSURD, BucketColumn, Extreme, SynopsisForm
from penstock.explain.reason_words import each_told, told


@pytest.mark.parametrize(
    ("form", "rows", "bound", "kept"),
    [
        (
            SynopsisForm("a", (), counted=True),
            1,
            "1 row",
            "no column of a keeps rows apart; kept: one row, with a count",
        ),
        (
            SynopsisForm("a", (BucketColumn("x", 3, 1), BucketColumn("y", 2)), counted=False),
            8,
            "8 distinct rows",
            "kept for each choice of x (3 values and 1 range), y (2 values): one row",
        ),
        (
            SynopsisForm(
                "a", (BucketColumn("x", 0, 2),), counted=False, extremes=(Extreme("x", True, False, above=5),)
            ),
            2,
            "2 distinct rows",
            "kept for each choice of x (2 ranges): the row with the greatest x where that lies above 5, else the "
            "first row",
        ),
        (
            SynopsisForm("b", (), counted=False, covered_by="a"),
            0,
            "nothing is stored",
            "a row of a stands for its own partner, so b adds no result",
        ),
    ],
)
def test_it_says_what_it_holds(form: SynopsisForm, rows: int, bound: str, kept: str) -> None:
    assert (form.rows, told(form.bound), each_told(form.reasons)[0]) == (rows, bound, kept)


def test_the_number_of_rows_is_a_product_and_an_absurd_one_says_so() -> None:
    form = SynopsisForm("a", (BucketColumn("x", ABSURD), BucketColumn("y", 2)), counted=False)
    product, warned = each_told(form.reasons)[1:]
    assert product == f"at most {ABSURD} x 2 = {2 * ABSURD} rows"
    assert "no practical bound" in warned


def test_extremes_that_ask_for_the_same_end_are_one_row() -> None:
    ends = tuple(Extreme(column, greatest=False, strict=False) for column in ("x", "y"))
    form = SynopsisForm("a", (BucketColumn("z", 1),), counted=False, extremes=ends)
    assert "the row whose greatest of x, y is least, else the first row" in each_told(form.reasons)[0]
