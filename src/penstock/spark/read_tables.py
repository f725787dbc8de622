"""A declared table as a DataFrame: with the columns that it declares, or an error; bad values end the query.

The files that are there when the query starts are looked at; Spark reads the table anew in each batch, and what is
wrong with a value is found then too. A file that comes later and lacks a column is not seen to. Other sources say what
columns they have.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError
from penstock.model.formats import VIEW
from penstock.model.names import quoted
from penstock.model.stream import Column, Storage, Stream
from penstock.model.types import DataType, Kind
from penstock.spark.connectors import require_connector
from penstock.spark.declared_columns import first_files, require_columns
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.file_heads import as_url
from penstock.spark.json_lines import asked_of_json
from penstock.spark.malformed import judged
from penstock.spark.readers import declared_in_files, reader_of
from penstock.spark.sinks import FILES
from penstock.spark.types import spark_type


def read_table(spark: SparkSession, name: str, columns: tuple[tuple[str, str], ...], storage: Storage) -> DataFrame:
    """The table of that name; raises DataError if it has not the columns that are declared."""
    # Of the types only the texts are asked.
    typed = tuple(Column(column, DataType(Kind.VARIANT, kind)) for column, kind in columns)
    table = Stream(name, typed, storage=storage)
    is_view = storage.format.lower() == VIEW
    if not is_view:
        require_connector(spark, f"table {name}", storage.format)
        require_columns(spark, table, what="table", all_as=declared_in_files(table))
        if (question := asked_of_json(storage)) is not None:
            for path in first_files(spark, table):
                question(as_url(path))
    try:
        frame = spark.table(dict(storage.options).get("name", name)) if is_view else reader_of(spark.read, table).load()
    except SPARK_ERRORS as error:
        raise DataError(
            f"cannot read table {name}", detail=what_it_says(error), hint="see its USING and OPTIONS"
        ) from error
    if not is_view:
        frame, _ = judged(frame, table, what="table")
    if storage.format.lower() in FILES:
        return frame.select(*(F.col(quoted(column)) for column, _ in columns))
    found = {column.casefold(): column for column in frame.columns}
    if missing := [column for column, _ in columns if column.casefold() not in found]:
        raise DataError(
            f"table {name} has no column {', '.join(missing)}, which is declared",
            detail=f"it has: {', '.join(frame.columns)}",
            hint="spell it as the table does, or leave it out",
        )
    shown = [F.col(quoted(found[column.casefold()])).cast(spark_type(kind)).alias(column) for column, kind in columns]
    return frame.select(*shown)
