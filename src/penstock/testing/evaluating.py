"""Expressions over whole columns without Spark: those that the core evaluates as Spark does (model/core_terms.py).

Everything else is Spark's, and refused with what to do instead. The types are those of the columns that are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import NotSupportedYet
from penstock.model.core_terms import CoreTerm, core_term
from penstock.model.expressions import ColumnRef, Term
from penstock.model.types import DataType, Kind
from penstock.runtime.columns.codes import flat
from penstock.runtime.columns.term_values import term_values

Read = Callable[[ColumnRef], Any]
"""The values of a column."""

_KINDS = {
    pa.bool_(): Kind.BOOLEAN,
    pa.int8(): Kind.TINYINT,
    pa.int16(): Kind.SMALLINT,
    pa.int32(): Kind.INT,
    pa.int64(): Kind.BIGINT,
    pa.float32(): Kind.FLOAT,
    pa.float64(): Kind.DOUBLE,
    pa.string(): Kind.STRING,
    pa.binary(): Kind.BINARY,
    pa.date32(): Kind.DATE,
    pa.timestamp("us", "UTC"): Kind.TIMESTAMP,
    pa.timestamp("us"): Kind.TIMESTAMP_NTZ,
    pa.null(): Kind.BOOLEAN,
}


def evaluated(term: Term, text: str, size: int, read: Read) -> Any:
    """The values of an expression on so many rows; `text` is what it is called if only Spark evaluates it."""
    return _values(_read_as_core_does(term, text, read), size, read)


def truths(term: Term, text: str, size: int, read: Read) -> Any:
    """Which of so many rows meet a condition: true, false or NULL."""
    found = _read_as_core_does(term, text, read)
    if found.type not in ("BOOLEAN", "VOID"):
        raise only_spark(text)
    return _values(found, size, read)


def only_spark(text: str, why: str | None = None) -> NotSupportedYet:
    """What to say of an expression that cannot be evaluated here."""
    return NotSupportedYet(
        f"only Spark evaluates {text}, so this query cannot be tested without it",
        detail=why,
        hint="comparisons, AND, OR, CASE, coalesce and arithmetic can; or declare a column for it, and give its values",
    )


def _read_as_core_does(term: Term, text: str, read: Read) -> CoreTerm:
    found = core_term(term, lambda ref: _data_type(read(ref).type))
    if found is None:
        raise only_spark(text)
    return found


def _values(term: CoreTerm, size: int, read: Read) -> Any:
    return term_values(term, lambda ref, places: flat(read(ref)).take(pa.array(places)), np.arange(size))


def _data_type(kind: Any) -> DataType | None:
    """The type of a column as Arrow has it."""
    if pa.types.is_decimal(kind):
        return DataType.decimal(kind.precision, kind.scale)
    found = _KINDS.get(kind)
    return None if found is None else DataType.of(found)
