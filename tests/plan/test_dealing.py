"""What rows are dealt to cells by: key classes that the same streams carry, together, unless a promise is of fewer."""

from __future__ import annotations

import pytest

from penstock.plan.dealing import dealt_columns, dealt_together
from tests.runtime.driving import plan_of

TIMES = "ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND"
BAND = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE"


def pair(a: str = "", b: str = "") -> str:
    return f"""CREATE STREAM a (x BIGINT, y BIGINT, {TIMES}{a}); CREATE STREAM b (x BIGINT, y BIGINT, {TIMES}{b});
SELECT a.x FROM a JOIN b ON a.y = b.y AND a.x = b.x AND {BAND};"""


def test_classes_of_the_same_streams_are_one_axis() -> None:
    plan = plan_of(pair())
    assert [dealt_together(plan, n) for n in range(2)] == [(0, 1), ()]
    assert dealt_columns(plan, 0, "a") == [plan.axes[0].column("a"), plan.axes[1].column("a")]
    assert dealt_columns(plan, 1, "a") == []


def test_classes_of_other_streams_are_axes_of_their_own() -> None:
    plan = plan_of("""CREATE STREAM a (x BIGINT); CREATE STREAM b (x BIGINT, y BIGINT); CREATE STREAM c (y BIGINT);
SELECT a.x FROM a [ROWS 9], b [ROWS 9], c [ROWS 9] WHERE a.x = b.x AND b.y = c.y;""")
    assert [dealt_together(plan, n) for n in range(2)] == [(0,), (1,)]
    assert dealt_columns(plan, 0, "c") == []


@pytest.mark.parametrize(
    "declared",
    [
        pair(a=", PRIMARY KEY (x)", b=", FOREIGN KEY (x) REFERENCES a (x)"),
        pair(b=", CLUSTERED BY x WITHIN 9 ROWS"),
        pair(b=", PUNCTUATED ON (x) WHEN y = -1"),
        pair(b=", FOLLOWS a (x) ON (x) WITHIN 9 SECONDS"),
    ],
)
def test_what_is_promised_of_one_class_leaves_that_alone(declared: str) -> None:
    plan = plan_of(declared)
    assert plan.promises
    (dealt,) = [found for n in range(2) if (found := dealt_together(plan, n))]
    columns = {plan.axes[n].column("a") for n in dealt}
    assert columns == {"x"}


def test_promises_of_both_classes_leave_both() -> None:
    plan = plan_of(pair(a=", PRIMARY KEY (x, y)", b=", FOREIGN KEY (y, x) REFERENCES a (y, x)"))
    assert dealt_together(plan, 0) == (0, 1)


def test_promises_with_no_class_in_common_leave_the_first() -> None:
    plan = plan_of(pair(b=", PUNCTUATED ON (x) WHEN y = -1, PUNCTUATED ON (y) WHEN x = -1"))
    assert [dealt_together(plan, n) for n in range(2)] == [(0,), ()]
