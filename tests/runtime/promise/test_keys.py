"""Rows that leave by [ROWS n] need no key and no cluster remembered for them: promise rows stay few."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from tests.runtime.driving import Driver

SCRIPT = """
CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT{s});
CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT{t});
SELECT s.n, t.n AS m FROM s [ROWS 10], t{window} WHERE s.k = t.k;
"""


@pytest.mark.parametrize(
    ("s", "t"),
    [("", ", PRIMARY KEY (k)"), (", PRIMARY KEY (k)", ", PRIMARY KEY (k)"), (", CLUSTERED BY k WITHIN 5 ROWS", "")],
)
def test_promise_rows_do_not_grow(s: str, t: str) -> None:
    driver = Driver(SCRIPT.format(s=s, t=t, window=" [ROWS 10]"))
    promises = []
    for batch in range(30):
        rows: list[tuple[int | None, ...]] = [(batch * 20 + j, 0, 0) for j in range(10)]
        promises.append(driver.step(s=rows, t=rows).metrics.promise_rows)
    # Of ended clusters 1 in 100 is remembered, at most a thousand.
    assert max(promises) <= 12 + 3
    assert promises[-1] <= promises[5] + 3


def test_where_they_must_grow_check_says_so() -> None:
    """A row of t names a key whose row has left its window: only memory tells that it came."""
    script = SCRIPT.format(s=", PRIMARY KEY (k)", t=", FOREIGN KEY (k) REFERENCES s (k)", window="")
    (notice,) = each_told(penstock.check(penstock.parse(script)).notices)
    assert "each of these keys is remembered" in notice
    both = SCRIPT.format(s=", PRIMARY KEY (k)", t=", FOREIGN KEY (k) REFERENCES s (k)", window=" [ROWS 10]")
    assert not each_told(penstock.check(penstock.parse(both)).notices)
