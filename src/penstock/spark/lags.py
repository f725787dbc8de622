"""The sample of a window on its way through Spark: lists of rows in, what they show out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.plan.counting import Rewriting, observed, total, violated
from penstock.runtime.lag_sample import Counted, Entities, Lags, Sampled, measure
from penstock.spark.worker import settle

KEY = "entity"
"""A number for the entity that a row is of: the hash of the columns that the query matches by."""
LAGS = "error_declared DOUBLE, error_observed DOUBLE, error_violations DOUBLE"
MEASURED = "exceeded BOOLEAN"
_LISTS = ("sources", "entities", "times")


def sampled_rows() -> Column:
    """The sample as lists side by side, which Arrow hands over as whole columns."""
    fields = zip(("source", KEY, "at"), _LISTS, strict=True)
    return F.struct(*(F.col(f"sample.{name}").alias(to) for name, to in fields)).alias("sample")


@dataclass(frozen=True)
class Measurer:
    """For mapInArrow: the columns that are kept, and what the sample of each window shows."""

    made: Rewriting
    kept: tuple[str, ...]
    one_in: int
    """One in so many entities is in the sample."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """One row a window and group; each has a whole sample, so the loop is over windows."""
        settle("measure")
        for batch in batches:
            shown = [self._shown(batch, row) for row in range(batch.num_rows)]
            columns = [batch.column(name) for name in self.kept]
            declared = [self.made.error_bound] * len(shown)
            crossing, breaking = [s[0] for s in shown], [s[1] for s in shown]
            exceeded = [
                c is not None and b is not None and total(c, b) > self.made.error_bound
                for c, b in zip(crossing, breaking, strict=True)
            ]
            measured = [pa.array(values, pa.float64()) for values in (declared, crossing, breaking)]
            names = [*self.kept, "error_declared", "error_observed", "error_violations", "exceeded"]
            yield pa.RecordBatch.from_arrays([*columns, *measured, pa.array(exceeded, pa.bool_())], names)

    def _shown(self, batch: Any, row: int) -> tuple[float | None, float | None]:
        sample = batch.column("sample")[row]
        sources = np.asarray(sample["sources"].values, dtype=object)
        keys, times = (np.asarray(sample[name].values) for name in _LISTS[1:])
        begin = batch.column("begin")[row].as_py()
        found = self._measured(sources, keys, times, begin)
        if found is None or not found.rows:
            return None, None
        return observed([(1.0, found.mean_lag)], self.made.period), violated(found.breaking, found.rows, self.one_in)

    def _measured(self, sources: Any, keys: Any, times: Any, begin: int) -> Sampled | None:
        if not len(sources):
            return None
        rows = {s.alias: Entities(keys[sources == s.alias], times[sources == s.alias]) for s in self.made.sources}
        made = self.made

        def beside_root(alias: str | None) -> Counted | None:
            if alias is None or alias == made.root:
                return None
            source = made.source(alias)
            promised = Lags(source.partner_low, source.partner_high)
            asked = Lags(source.asked_low, source.asked_high)
            return Counted(rows[alias], Lags(source.low, source.high), promised, asked)

        return measure(
            rows[made.root], beside_root(made.counted), beside_root(made.removed), begin, begin + made.period
        )
