"""Numbers beside a constant, as Spark compares them: exactly, or as DOUBLE where the column holds floats."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.model.predicates import Op
from penstock.runtime.columns.beside_numbers import beside_number

PYTHON = {Op.EQ: operator.eq, Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge}
WIDE = Decimal("9" * 36 + ".99")
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "int64": (pa.int64(), [-(2**63), -2, -1, 0, 1, 2, 2**63 - 1]),
    "int8": (pa.int8(), [-128, -1, 0, 1, 127]),
    "narrow": (pa.decimal128(5, 2), [Decimal(text) for text in ("-999.99", "-1.50", "0", "1.50", "1.51", "999.99")]),
    "wide": (pa.decimal128(38, 2), [Decimal("-" + str(WIDE)), Decimal("1.50"), Decimal("1.51"), WIDE]),
    "double": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, 0.1, math.inf]),
    "float": (pa.float32(), [-1.5, -0.0, 0.0, 1.5, math.inf]),
}
CONSTANTS = ("0", "1.5", "-1.5", "1.505", "1.51", "0.1", "127", "128", "9223372036854775808", "-1" + "0" * 40, "1e-400")


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("text", CONSTANTS)
def test_every_comparison_is_pythons(name: str, text: str) -> None:
    kind, values = COLUMNS[name]
    column = pa.array([*values, None], kind)
    constant: Any = float(text) if pa.types.is_floating(kind) else Decimal(text)
    for op, python in PYTHON.items():
        found = beside_number(op, column, format(Decimal(text), "f")).tolist()
        assert found == [*(python(value, constant) for value in values), False], op


def test_what_is_no_number_is_the_largest() -> None:
    column = pa.array([math.nan])
    held = {op for op in Op if op in PYTHON and beside_number(op, column, "1.5")[0]}
    assert held == {Op.GT, Op.GE}
