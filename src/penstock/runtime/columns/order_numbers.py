"""Numbers in the order of a column, and how far they lie apart on its clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from penstock.runtime.columns.codes import INT64, Ints


def ranks(column: Any) -> Ints:
    """Numbers in the order of a column that has no codes; NULLs get any."""
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def ticks_below(highest: Any, numbers: Ints, per_number: int) -> Ints:
    """How many ticks each number lies below the highest; held at the end of the range instead of wrapping round."""
    apart: Ints = np.maximum(highest, numbers) - numbers
    apart = np.where((apart < 0) | (apart > INT64.max // per_number), INT64.max // per_number, apart)
    return apart * per_number
