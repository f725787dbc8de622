"""A column of numbers beside a constant that may lie between two of its values, or beyond all of them.

Spark compares whole numbers and decimals exactly, and floats as DOUBLE: the constant is rounded to one, NaN equals
itself and is the largest. So a constant is moved to the next value of the column's type in the direction that changes
no answer; where there is none, nothing is equal to it.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.predicates import Op
from penstock.runtime.columns.codes import INT64, Bools, codes, is_coded

OPS = {Op.EQ: pc.equal, Op.LT: pc.less, Op.LE: pc.less_equal, Op.GT: pc.greater, Op.GE: pc.greater_equal}
_DIGITS = 400
"""More than a DOUBLE has before or after its point."""


def is_number(kind: Any) -> bool:
    """Whether values of the type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def beside_number(op: Op, values: Any, text: str) -> Bools:
    """Each value against a number; false for NULL."""
    held: Bools = _beside(op, values, Decimal(text))
    there: Bools = values.is_valid().to_numpy(zero_copy_only=False)
    return held & there


def _beside(op: Op, values: Any, number: Decimal) -> Any:
    kind = values.type
    if pa.types.is_floating(kind):
        wide = codes(values.cast(pa.float64()))
        return _asked(op, wide, int(codes(pa.array([float(number)]))[0]))
    with localcontext(prec=_DIGITS):
        scaled = number.scaleb(kind.scale) if pa.types.is_decimal(kind) else number
        below = math.floor(scaled)
        is_between = below != scaled
    if is_between and op is Op.EQ:
        return np.zeros(len(values), np.bool_)
    step = below + (is_between and op in (Op.LT, Op.GE))
    if is_coded(kind):
        found = codes(values)
        if INT64.min <= step <= INT64.max:
            return _asked(op, found, step)
    elif abs(step) < 10**kind.precision:
        with localcontext(prec=_DIGITS):
            constant = pa.scalar(Decimal(step).scaleb(-kind.scale), kind)
        return pc.fill_null(OPS[op](values, constant), False).to_numpy(zero_copy_only=False)
    # Beyond every value of the type.
    is_above = op in (Op.LT, Op.LE)
    return np.full(len(values), op is not Op.EQ and (step > 0) == is_above)


def _asked(op: Op, found: Any, step: int) -> Any:
    return OPS[op](pa.array(found), pa.scalar(step, pa.int64())).to_numpy(zero_copy_only=False)
