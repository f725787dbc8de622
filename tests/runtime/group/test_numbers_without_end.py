"""Infinities and numbers whose sum is one, in every aggregate: what Spark gives, and no warning of numpy's.

Warnings are errors in these tests; to somebody who runs a query they would be lines of noise for each batch.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from penstock.testing import Run

INF = math.inf
WHOLE = {"sum": math.nan, "avg": math.nan, "min": -INF, "max": INF, "median": math.nan, "stddev": math.nan}
LARGE = {"sum": INF, "avg": INF, "min": 1e308, "max": 1e308, "median": 1e308, "stddev": 0.0}


def same(found: Any, due: Any) -> bool:
    return bool(found == due) or (math.isnan(found) and math.isnan(due))


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(("values", "due"), [((INF, -INF), WHOLE), ((1e308, 1e308), LARGE)], ids=["infinite", "large"])
def test_aggregates_of_what_has_no_end(name: str, values: tuple[float, float], due: dict[str, float]) -> None:
    """In one batch or in two, counted twice each by a second partner."""
    script = f"""
    CREATE STREAM a (k BIGINT, v DOUBLE); CREATE STREAM b (k BIGINT);
    SELECT a.k, {name}(a.v) AS x FROM a, b WHERE a.k = b.k GROUP BY a.k;
    """
    for batches in ([values], [values[:1], values[1:]]):
        run = Run(script)
        run.step({"b": pa.table({"k": [1, 1]})})
        found = []
        for batch in batches:
            found += run.step({"a": pa.table({"k": [1] * len(batch), "v": list(batch)})}).rows.column("x").to_pylist()
            run.restart()
        assert same(found[-1], due[name])
