"""`mapInArrow` for columns of any name: PySpark finds the columns by bare name, in which a dot means a field.

Names that it could misread travel as their places, and the function gets its columns under their own names again. Zeek
names its columns so: `id.orig_h`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

ArrowMap = Callable[[Iterable[Any]], Iterator[Any]]


def mapped(frame: DataFrame, function: ArrowMap, schema: StructType | str) -> DataFrame:
    """What the function gives of the frame's batches."""
    names = frame.columns
    if not any(c in name for name in names for c in ".`"):
        return frame.mapInArrow(function, schema)
    return frame.toDF(*(f"_{n}" for n in range(len(names)))).mapInArrow(_Named(function, tuple(names)), schema)


@dataclass(frozen=True)
class _Named:
    """A function that is handed columns under these names."""

    function: ArrowMap
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return self.function(batch.rename_columns(list(self.names)) for batch in batches)
