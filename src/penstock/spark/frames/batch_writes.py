"""Batch writes, which a job that is only looked at does not do: the methods, and the statements of SQL.

What changes rows or takes a table away is a write. `CREATE TABLE` without a query makes one without rows, so that the
job can go on to read it, and is none. Statements are known by the plan that Spark's parser makes of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.core.rdd import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.merge import MergeIntoWriter
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

from penstock.spark.frames.catalyst import Catalyst, Node, children, items, kind, no_log_of_errors

_METHODS: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (
        DataFrameWriter,
        "write",
        ("save", "saveAsTable", "insertInto", "json", "parquet", "text", "csv", "orc", "xml", "jdbc"),
    ),
    (
        DataFrameWriterV2,
        "writeTo",
        ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"),
    ),
    (MergeIntoWriter, "mergeInto", ("merge",)),
    (ClassicFrame, "DataFrame", ("foreach", "foreachPartition")),
    (RDD, "RDD", ("foreach", "foreachPartition", *(name for name in vars(RDD) if name.startswith("saveAs")))),
)
"""Classes, what a job calls them by, and those of their methods that write."""

_STATEMENTS = {
    "InsertIntoStatement": "INSERT",
    "InsertIntoDir": "INSERT",
    "MergeIntoTable": "MERGE",
    "UpdateTable": "UPDATE",
    "DeleteFromTable": "DELETE",
    "TruncateTable": "TRUNCATE",
    "TruncatePartition": "TRUNCATE",
    "DropTable": "DROP TABLE",
    "DropNamespace": "DROP SCHEMA",
    "DropPartitions": "ALTER TABLE … DROP PARTITION",
    "LoadData": "LOAD DATA",
    "CreateTableAsSelect": "CREATE TABLE … AS SELECT",
    "ReplaceTableAsSelect": "REPLACE TABLE … AS SELECT",
}
_TABLE = "_penstock_table"
_FORMATTED = re.compile(r"\{[^{}]*\}")
"""Where `spark.sql` puts a DataFrame or a column that it is given by name."""


def without_batch_writes(left_out: list[str]) -> Iterator[tuple[Any, str, Callable[[Any], Any]]]:
    """Classes of Spark's, names of their methods, and what is made of each, so that none writes a batch.

    What is left out is added to a list. A table that it would have made is there without rows.
    """
    for owner, called, names in _METHODS:
        for name in names:
            yield owner, name, _noted(left_out, called, name)
    yield DataFrameWriterV2, "__init__", _naming_table
    yield SparkSession, "sql", _without_statements(left_out)


def stand_in(session: SparkSession, table: str, schema: Any) -> None:
    """A table without rows under the name of one that the job would write, so that it can go on to read it."""
    if table.isidentifier() and not session.catalog.tableExists(table):
        session.createDataFrame([], schema).createOrReplaceTempView(table)


def _noted(left_out: list[str], called: str, name: str) -> Callable[[Any], Any]:
    def made(original: Any) -> Any:
        signature = inspect.signature(original)

        def instead(writer: Any, *given: Any, **named: Any) -> None:
            left_out.append(f"{called}.{name} of a batch")
            asked = signature.bind(writer, *given, **named).arguments
            table = asked["name"] if name == "saveAsTable" else getattr(writer, _TABLE, None)
            if table is not None:
                stand_in(writer._df.sparkSession, table, writer._df.schema)

        return instead

    return made


def _naming_table(original: Any) -> Any:
    def called(writer: Any, frame: DataFrame, table: str) -> None:
        original(writer, frame, table)
        setattr(writer, _TABLE, table)

    return called


def _without_statements(left_out: list[str]) -> Callable[[Any], Any]:
    def made(original: Any) -> Any:
        def called(session: SparkSession, sqlQuery: str, *given: Any, **named: Any) -> DataFrame:  # noqa: N803 - Spark's
            statement = _statement_that_writes(session, sqlQuery)
            if statement is None:
                answer: DataFrame = original(session, sqlQuery, *given, **named)
                return answer
            left_out.append(f"{_STATEMENTS[kind(statement)]} in SQL")
            if kind(statement).endswith("TableAsSelect"):
                table = ".".join(map(str, items(statement.name().nameParts())))
                stand_in(session, table, Catalyst(session).frame(statement.query()).schema)
            return session.createDataFrame([], "none INT").drop("none")

        return called

    return made


def _statement_that_writes(session: SparkSession, text: str) -> Node | None:
    """The plan of a statement that writes; None of any other, and of what Spark cannot parse."""
    parser = session._jsparkSession.sessionState().sqlParser()
    with no_log_of_errors():
        try:
            return _writing(parser.parsePlan(_FORMATTED.sub("formatted", text)))
        except PySparkException:
            return None


def _writing(plan: Node) -> Node | None:
    if kind(plan) in _STATEMENTS:
        return plan
    return next((found for child in children(plan) if (found := _writing(child)) is not None), None)
