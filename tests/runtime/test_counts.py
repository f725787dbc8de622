"""The counts of a batch: an array of numbers for each cell, added up or the same everywhere, and the line they make."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.runtime.counts import (
    combined,
    counts_of,
    metrics_line,
    metrics_of,
    second_stage_of,
    second_vocabulary,
    vocabulary,
    with_second_stage,
)
from tests.runtime.driving import Driver, plan_of

JOIN = """CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);
SELECT {} FROM s, t WHERE s.k = t.k AND t.ts = s.ts{};"""
PLAIN = JOIN.format("s.n", "")


def test_an_array_means_what_the_vocabulary_says() -> None:
    driver = Driver(PLAIN)
    result = driver.step(s=[(1, 5, 0), (2, 1, 0)], t=[(1, 5, 0)])
    counts = counts_of(driver.plan, result.metrics)
    assert len(counts) == sum(count.width for count in vocabulary(driver.plan))
    fields = metrics_of(driver.plan, combined(vocabulary(driver.plan), [counts]))
    assert fields["rows_in"] == {"s": 2, "t": 1}
    assert fields["rows_out"] == 1
    assert fields["violations"] == {"ORDERED BY ts WITHIN 2 ON s": 1}
    assert fields["state_rows"] == result.metrics.state_rows


def test_what_every_cell_sees_alike_is_not_added_up() -> None:
    driver = Driver(PLAIN)
    counts = counts_of(driver.plan, driver.step(s=[(1, 5, 0)], t=[(1, 5, 0)]).metrics)
    twice = metrics_of(driver.plan, combined(vocabulary(driver.plan), [counts, counts]))
    assert twice["rows_in"] == {"s": 1, "t": 1}, "read once, told by both"
    assert twice["rows_out"] == 2


@pytest.mark.parametrize(
    ("script", "stage"),
    [
        (PLAIN, None),
        (JOIN.format("DISTINCT s.n", ""), "(distinct)"),
        (JOIN.format("s.n, count(*) AS c", " GROUP BY s.n"), "(groups)"),
    ],
)
def test_the_name_of_the_second_stage(script: str, stage: str | None) -> None:
    assert second_stage_of(plan_of(script)) == stage


def test_both_stages_together() -> None:
    fields = {
        "rows_out": 9,
        "lost": 1,
        "emitted": 9,
        "state_rows": {"s": 2},
        "state_tuples": {"s": 2},
        "state_bytes": 10,
    }
    names = [count.name for count in second_vocabulary("(distinct)")]
    observed = dict(zip(names, (4, 2, 3, 5, 5, 100), strict=True))
    both = with_second_stage("(distinct)", fields, observed)
    assert both["rows_out"] == 4
    assert both["lost"] == 3
    assert both["emitted"] == 6
    assert both["state_rows"] == {"s": 2, "(distinct)": 5}
    assert both["state_bytes"] == 110


def test_a_line_has_recall_only_under_a_budget() -> None:
    driver = Driver(PLAIN)
    known = metrics_of(
        driver.plan, combined(vocabulary(driver.plan), [counts_of(driver.plan, driver.step(s=[(1, 5, 0)]).metrics)])
    )
    line = metrics_line("q", 3, known, 0.5)
    assert (line["query"], line["batch"], line["seconds"]) == ("q", 3, 0.5)
    assert line["recall"] is line["recall_error"] is None
    tight = Driver(PLAIN.replace("SELECT s.n", "SELECT /*+ BUDGET(2 ROWS) */ s.n"))
    lost = tight.step(s=[(k, 5, 0) for k in range(9)])
    fields = metrics_of(tight.plan, combined(vocabulary(tight.plan), [counts_of(tight.plan, lost.metrics)]))
    assert metrics_line("q", 0, fields, 0.1)["evicted"] >= 7


def test_a_batch_without_rows_has_counts_too() -> None:
    driver = Driver(PLAIN)
    result = driver.step()
    assert isinstance(result.rows, pa.Table)
    assert metrics_of(driver.plan, combined(vocabulary(driver.plan), [counts_of(driver.plan, result.metrics)]))[
        "rows_in"
    ] == {"s": 0, "t": 0}
