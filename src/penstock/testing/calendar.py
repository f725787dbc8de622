"""Times cut to a unit of the calendar, over whole columns, in UTC: `date_trunc`, `trunc`, `to_date`, CAST to DATE."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.closed_groups import LAST_MOMENT, Cut
from penstock.runtime.columns.codes import flat
from penstock.testing.evaluating import only_spark


def cut_values(cut: Cut, column: Any, text: str) -> Any:
    """The cut of each time."""
    values = flat(column)
    if not pa.types.is_temporal(values.type):
        raise only_spark(text, "it makes a TIMESTAMP of what is none")
    if cut.unit == LAST_MOMENT:
        return pc.subtract(values, pa.scalar(1, pa.duration("us")))
    if not cut.gives_date:
        values = values.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    floored = values if cut.unit == "DAY" and cut.gives_date else pc.floor_temporal(values, 1, cut.unit.lower())
    return floored.cast(pa.date32(), safe=False) if cut.gives_date else floored
