"""Types on their way through Spark and Arrow.

Arrow in Python has no months, so intervals of years and months travel as a number of months.
"""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.errors import NotSupportedYet
from penstock.model.names import quoted

_TEXT_OF_LENGTH = re.compile(r"\b(?:VARCHAR|CHAR)\s*\(\s*\d+\s*\)", re.IGNORECASE)
_MONTHS = re.compile(r"\bINTERVAL\s+(?:YEAR|MONTH)\b", re.IGNORECASE)


def spark_type(declared: str) -> str:
    """What a DataFrame has where a stream declares that type: VARCHAR and CHAR exist in tables alone."""
    return _TEXT_OF_LENGTH.sub("STRING", declared)


def carried_type(declared: str) -> str:
    """What the exchange and the state hold of it."""
    return "INT" if _MONTHS.match(declared) else spark_type(declared)


def carried(name: str, declared: str) -> str:
    """The expression that makes it so."""
    if _MONTHS.match(declared):
        whole = f"CAST({quoted(name)} AS INTERVAL YEAR TO MONTH)"
        return f"extract(YEAR FROM {whole}) * 12 + extract(MONTH FROM {whole}) AS {quoted(name)}"
    return quoted(name)


def restored(name: str, declared: str) -> str:
    """The expression that takes it back."""
    if _MONTHS.match(declared):
        column = quoted(name)
        return f"CAST(make_ym_interval(0, {column}) AS {declared}) AS {column}"
    return quoted(name)


# Spark 4.1 and 4.2 name the zone in another way.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {"timestamp_utc": True}
)


def require_carriable(column: str, declared: str) -> None:
    """Raise NotSupportedYet where a type cannot be carried."""
    if _MONTHS.search(declared) and not _MONTHS.match(declared):
        raise NotSupportedYet(
            f"{column}, {_with_article(declared)}, cannot be carried yet",
            detail="Arrow in Python has no months, and these stand inside another type",
            hint="derive a column that holds a number of months",
        )


def arrow_schema(columns: str | StructType) -> Any:
    """The same as Arrow has it; needs a session, so it is made before the workers start."""
    schema = StructType.fromDDL(columns) if isinstance(columns, str) else columns
    assert isinstance(schema, StructType)
    return to_arrow_schema(schema, **_UTC)


def _with_article(word: str) -> str:
    return f"{'an' if word[:1].upper() in 'AEIOU' else 'a'} {word}"
