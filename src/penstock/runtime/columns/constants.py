"""Columns against the constants of a plan, which are texts (plan/merge.py): a string as it is, anything else a code.

A TIMESTAMP that is no code yet is one of UTC.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.merge import is_code
from penstock.runtime.columns.codes import INT64, Bools, codes, is_coded


def ordinal(text: str, kind: Any) -> int:
    """A text of the plan as a code; whole numbers beyond the type lie at its end."""
    if pa.types.is_decimal(kind):
        code = int(Decimal(text).scaleb(kind.scale))
    elif pa.types.is_timestamp(kind) and not is_code(text):
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
        code = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    else:
        code = int(text)
    return max(min(code, int(INT64.max)), int(INT64.min))


def _is_null(values: Any) -> Bools:
    return values.is_null().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def compared(op: Any, values: Any, text: str) -> Bools:
    """Each value against a text of the plan; false for NULL."""
    if is_coded(values.type):
        held = op(pa.array(codes(values)), ordinal(text, values.type)).to_numpy(zero_copy_only=False)
        return held & ~_is_null(values)  # type: ignore[no-any-return]
    constant = pa.scalar(Decimal(text), values.type) if pa.types.is_decimal(values.type) else text
    return pc.fill_null(op(values, constant), False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def is_none_of(values: Any, texts: tuple[str, ...]) -> Bools:
    """Which values are none of those of the plan; NULL is not asked."""
    found: Bools = ~_is_null(values)
    if is_coded(values.type):
        return found & ~np.isin(codes(values), [ordinal(text, values.type) for text in texts])
    for text in texts:
        found &= ~compared(pc.equal, values, text)
    return found
