"""Sinks that take updates: a row takes the place of the one with its key, so the sink holds the newest values.

Each batch is one transaction of the sink's: `MERGE INTO` for tables of Delta and Iceberg; for a database, the batch is
written to a table beside the sink's by Spark's own JDBC writer, and from there the old rows are deleted and the new
ones inserted in one transaction of plain SQL, which every database takes. A batch that is replayed gives the same
rows, and replacing rows by themselves changes nothing: so each is there once, whatever was killed when.

Which of two rows with one key in one batch would stay is nobody's choice; so a batch with two is refused, where the
query does not rule it out itself. The sink's table is made if there is none.

Not decided: rows that are taken back. A group that no longer passes HAVING stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StringType, StructType

from penstock.errors import DataError, UsageError
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.stream import Sink
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.option_values import option_values

JDBC = "jdbc"
_TYPES = "createtablecolumntypes"
_KEY_TYPE = "VARCHAR(255)"
_STAGED = "penstock_{}"
"""A column of the table beside the sink's: no name of the sink's own, so that neither needs to be qualified."""

Write = Callable[[DataFrame], None]


def upserting(answer: DataFrame, sink: Sink, query: Query) -> Callable[[DataFrame, int], None]:
    """What is done with each batch of an answer; raises if the sink cannot be reached."""
    columns = {fold(column): column for column in answer.columns}
    key = [columns[fold(column)] for column in sink.key]
    is_database = sink.storage.format.lower() == JDBC
    write = _into_database(answer, sink, query, key) if is_database else _into_table(answer, sink, query, key)
    is_unique = query.is_grouped and not query.grouping_sets and (query.top is None or query.top.most == 1)

    def upsert(batch: DataFrame, _: int) -> None:
        # What is asked of a batch twice would be worked out twice, state and all.
        batch.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            if batch.count() == 0:
                return
            if not is_unique:
                _require_unique(batch, sink, key)
            try:
                write(batch)
            except SPARK_ERRORS as error:
                raise DataError(
                    f"sink {sink.name}: a batch could not be written", detail=what_it_says(error)
                ) from error
        finally:
            batch.unpersist()

    return upsert


def _require_unique(batch: DataFrame, sink: Sink, key: list[str]) -> None:
    twice = batch.groupBy(*map(_column, key)).count().where("count > 1").limit(1).collect()
    if twice:
        shown = ", ".join(f"{name} = {value}" for name, value in zip(key, twice[0], strict=False))
        raise DataError(
            f"sink {sink.name}: two rows of one batch have the key {shown}, and which should stay is not known",
            hint="make them one: ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1, or GROUP BY the key",
        )


def _column(name: str) -> Any:
    return F.col(f"`{name.replace('`', '``')}`")


def _into_table(answer: DataFrame, sink: Sink, query: Query, key: list[str]) -> Write:
    """MERGE INTO the table, or the folder, of a sink."""
    options = {name.lower(): value for name, value in option_values(sink.storage)}
    kind = sink.storage.format
    table, path = options.get("table"), options.get("path")
    if table is None and path is None:
        raise UsageError(f"sink {sink.name} has no path", hint=f"USING {kind} OPTIONS (path '…'), or (table '…')")
    if table is None and fold(kind) != "delta":
        raise UsageError(
            f"sink {sink.name}: rows of {kind} are replaced in a table of a catalog",
            hint="OPTIONS (table 'catalog.db.t')",
        )
    target = table if table is not None else f"delta.`{path}`"
    declared = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in answer.schema.fields)
    answer.sparkSession.sql(f"CREATE TABLE IF NOT EXISTS {target} ({declared}) USING {kind}")
    view = re.sub(r"\W", "_", f"penstock_{query.name}")
    statement = merge_statement(target, view, key)

    def write(batch: DataFrame) -> None:
        batch.createOrReplaceTempView(view)
        batch.sparkSession.sql(statement)

    return write


def merge_statement(target: str, batch: str, key: list[str]) -> str:
    """Rows of a batch in place of those with their key."""
    same = " AND ".join(f"old.`{column}` <=> new.`{column}`" for column in key)
    return (
        f"MERGE INTO {target} AS old USING {batch} AS new ON {same} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _into_database(answer: DataFrame, sink: Sink, query: Query, key: list[str]) -> Write:
    """Delete and insert, in one transaction, from a table that Spark has written."""
    given = {name.lower(): value for name, value in option_values(sink.storage)}
    for needed in ("url", "dbtable"):
        if not given.get(needed):
            raise UsageError(f"sink {sink.name} has no {needed}", hint="USING jdbc OPTIONS (url 'jdbc:…', dbtable '…')")
    types = _column_types(answer, given.get(_TYPES), key)
    target, staged = given["dbtable"], re.sub(r"\W", "_", f"{given['dbtable']}_{query.name}_batch")
    names = {column: _STAGED.format(place) for place, column in enumerate(answer.columns)}
    spark = answer.sparkSession
    database = _Database(spark, given, sink.name)
    database.run([])
    made = {**given, _TYPES: _written(types)}
    spark.createDataFrame([], answer.schema).write.format(JDBC).options(**made).mode("append").save()
    beside = {**given, "dbtable": staged, _TYPES: _written({names[column]: kind for column, kind in types.items()})}

    def write(batch: DataFrame) -> None:
        batch.toDF(*names.values()).write.format(JDBC).options(**beside).mode("overwrite").save()
        database.run(database.replacing(target, staged, names, key))
        database.run([f"DROP TABLE {staged}"])

    return write


def _column_types(answer: DataFrame, asked: str | None, key: list[str]) -> dict[str, str]:
    """How a database keeps columns, where not as Spark would: strings of a key are such as every one can compare."""
    kinds = {field.name: field.dataType for field in answer.schema.fields}
    found = {column: _KEY_TYPE for column in key if isinstance(kinds[column], StringType)}
    if asked is not None:
        spelled = {fold(column): column for column in kinds}
        wanted = cast(StructType, StructType.fromDDL(asked)).fields
        found |= {spelled[fold(f.name)]: f.dataType.simpleString() for f in wanted if fold(f.name) in spelled}
    return found


def _written(types: dict[str, str]) -> str:
    return ", ".join(f"`{column}` {kind}" for column, kind in types.items())


class _Database:
    """Statements of ours, by the connections and the quotes that Spark has for a database."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], sink: str) -> None:
        jvm: Any = spark._jvm
        self._sink = sink
        self._dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
        told = jvm.PythonUtils.toScalaMap(dict(options))
        self._options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(told)

    def quoted(self, column: str) -> str:
        """A name as Spark quotes it when it makes a table there."""
        return str(self._dialect.quoteIdentifier(column))

    def replacing(self, target: str, staged: str, names: dict[str, str], key: list[str]) -> list[str]:
        """The statements that put the rows of one table, under other names, in place of those with their key."""
        same = " AND ".join(_equal(self.quoted(names[column]), self.quoted(column)) for column in key)
        into, taken = ", ".join(map(self.quoted, names)), ", ".join(map(self.quoted, names.values()))
        return [
            f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {staged} WHERE {same})",
            f"INSERT INTO {target} ({into}) SELECT {taken} FROM {staged}",
        ]

    def run(self, statements: list[str]) -> None:
        """All in one transaction, or none."""
        try:
            connection = self._dialect.createConnectionFactory(self._options).apply(-1)
        except SPARK_ERRORS as error:
            raise DataError(
                f"sink {self._sink}: cannot connect to its database",
                detail=what_it_says(error),
                hint="the driver of the database is given to Spark by --conf spark.jars.packages=GROUP:NAME:VERSION",
            ) from error
        try:
            connection.setAutoCommit(False)
            done = connection.createStatement()
            for statement in statements:
                done.executeUpdate(statement)
            connection.commit()
        except SPARK_ERRORS:
            connection.rollback()
            raise
        finally:
            connection.close()


def _equal(new: str, old: str) -> str:
    return f"({new} = {old} OR ({new} IS NULL AND {old} IS NULL))"
