"""The sample of a window on its way through Spark: lists of rows in, what they show out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.plan.counting import Rewriting, broken_rows, crossing, observed, total, violated
from penstock.runtime.input.lag_sample import Entities, LaggedRows, Lags, Sampled, measure
from penstock.spark.worker import settle

KEY = "entity"
"""A number for the entity that a row is of: the hash of the columns that the query matches by."""
LIMITS = "low BIGINT, high BIGINT"
MEASURED = (
    "error_declared DOUBLE, error_observed DOUBLE, error_violations DOUBLE, error_answer DOUBLE, "
    "broken BOOLEAN, exceeded BOOLEAN"
)
_LISTS = ("sources", "entities", "times")


def sampled_rows() -> Column:
    """The sample as lists side by side, which Arrow hands over as whole columns."""
    fields = zip(("source", KEY, "at"), _LISTS, strict=True)
    return F.struct(*(F.col(f"sample.{name}").alias(to) for name, to in fields)).alias("sample")


@dataclass(frozen=True)
class _Shown:
    """What the sample of one window says; shares are of the root's rows, None where it holds none of them."""

    crossing: float | None = None
    breaking: float | None = None
    broken: int | None = None
    """How many rows of the window break a declaration, those that are not in the sample included; None if no sample
    could show it.
    """

    @property
    def together(self) -> float | None:
        """Both errors."""
        return None if self.crossing is None or self.breaking is None else total(self.crossing, self.breaking)


@dataclass(frozen=True)
class Measurer:
    """For mapInArrow: the columns that are kept, limits that are wide enough for what the sample of each window shows
    to be broken, and the errors that it shows.
    """

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
            rows, counted, low, high = (
                np.asarray(batch.column(name), np.int64) for name in ("rows", "counted", "low", "high")
            )
            broken = np.array([one.broken or 0 for one in shown], np.int64)
            declared = self.made.error_bound
            answer = [
                one.together * int(n) / int(count) if one.together is not None and count else None
                for one, n, count in zip(shown, rows, counted, strict=True)
            ]
            found = {
                "low": pa.array(np.maximum(low - broken, 0)),
                "high": pa.array(high + broken),
                "error_declared": pa.array([declared] * len(shown), pa.float64()),
                "error_observed": pa.array([one.crossing for one in shown], pa.float64()),
                "error_violations": pa.array([one.breaking for one in shown], pa.float64()),
                "error_answer": pa.array(answer, pa.float64()),
                "broken": pa.array([None if one.broken is None else one.broken > 0 for one in shown], pa.bool_()),
                "exceeded": pa.array(
                    [one.together is not None and one.together > declared for one in shown], pa.bool_()
                ),
            }
            yield pa.RecordBatch.from_arrays([*columns, *found.values()], [*self.kept, *found])

    def _shown(self, batch: Any, row: int) -> _Shown:
        if len(self.made.sources) == 1:
            # The root alone is counted: it meets nothing that could cross, or be missing.
            return _Shown(0.0)
        sample = batch.column("sample")[row]
        sources = np.asarray(sample["sources"].values, dtype=object)
        keys, times = (np.asarray(sample[name].values) for name in _LISTS[1:])
        begin = batch.column("begin")[row].as_py()
        found = self._measured(sources, keys, times, begin)
        if found is None:
            return _Shown()
        broken = broken_rows(found.breaking, self.one_in)
        if not found.rows:
            return _Shown(broken=broken)
        evenly = observed([(1.0, found.mean_lag)], self.made.period)
        breaking = violated(found.breaking, found.rows, self.one_in)
        return _Shown(crossing(evenly, found.crossed, found.rows, self.one_in), breaking, broken)

    def _measured(self, sources: Any, keys: Any, times: Any, begin: int) -> Sampled | None:
        if not len(sources):
            return None
        rows = {s.alias: Entities(keys[sources == s.alias], times[sources == s.alias]) for s in self.made.sources}
        made = self.made

        def beside_root(alias: str | None) -> LaggedRows | None:
            if alias is None or alias == made.root:
                return None
            source = made.source(alias)
            promised = Lags(source.partner_low, source.partner_high)
            asked = Lags(source.asked_low, source.asked_high)
            return LaggedRows(rows[alias], Lags(source.low, source.high), promised, asked)

        return measure(
            rows[made.root], beside_root(made.counted), beside_root(made.removed), begin, begin + made.period
        )
