"""The live line tells how many rows came, not how often they were read or what blocks made of them."""

from __future__ import annotations

import pytest

from penstock.model.shown_names import shown_names
from penstock.spark.told import rows_read
from penstock.testing import Run
from tests.testing.test_metrics_of_cases import AS_A_VALUE, BESIDE_OR, CAME, IN_A_VIEW, STREAMS

TWICE = "SELECT a.id FROM orders AS a JOIN orders AS b ON a.id = b.id AND b.ts = a.ts;"


@pytest.mark.parametrize(("query", "came"), [(BESIDE_OR, 5), (AS_A_VALUE, 5), (IN_A_VIEW, 5), (TWICE, 3)])
def test_a_row_counts_once(query: str, came: int) -> None:
    run = Run(STREAMS + query)
    tables = CAME if query != TWICE else {"orders": CAME["orders"]}
    line = run.step(tables).metrics
    assert rows_read(run.plan, shown_names(run.query), line["rows_in"]) == came
