"""What Spark makes of rows before anything of ours looks at them: joins with tables, elements of arrays.

The rows are those of a source, or the answer of a block. Beside the latter stand rows that are no answers, but tell how
far it has come: they stay as they are, once, whatever is joined.

What a query derives is asked only of rows that its conditions on that stream alone let through, as SQL has it: of
`CAST(s AS INT) = k` and `s RLIKE '[0-9]+'` the first would end the query by a row that the second keeps out. The same
holds of what a table is joined by: `6 / o.v = t.k` and `o.v <> 0`. A join that drops rows anyway then sees no others; a
LEFT JOIN keeps them, so they meet nothing. Only where what is compared may fail: else such rows move the clock on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import StructType

from penstock.errors import DataError
from penstock.model.names import quoted
from penstock.model.stream import Exploded, Storage, Stream, TableJoin
from penstock.model.table import column_of
from penstock.spark.read_tables import read_table
from penstock.spark.types import spark_type

Filters = Mapping[str, tuple[str, ...]]
"""By alias, the conditions on its rows alone."""

_MET = "__met"
_DIVIDES = re.compile(r"[/%]|\b(div|mod|pmod)\b", re.IGNORECASE)
_MAY_FAIL = re.compile(rf"{_DIVIDES.pattern}|::|\[|\b(cast|to_\w+|element_at|elt|make_\w+)\b", re.IGNORECASE)
"""What in a condition ends the query for some values."""


def all_of(conditions: Iterable[str]) -> str:
    """All of them as one: what ends the query for some values comes behind what may keep these out."""
    ordered = sorted(conditions, key=lambda text: _MAY_FAIL.search(text) is not None)
    return " AND ".join(f"({text})" for text in ordered)


def as_query_reads(
    frame: DataFrame,
    stream: Stream,
    filters: Filters = MappingProxyType({}),
    among: Column | None = None,
) -> DataFrame:
    """The rows joined with tables, and with what a query derives, which names columns as the query does.

    Rows that are not `among` those of the stream, if that is given, stay as they are, with NULL in what is added; so do
    rows that the `filters` of an alias keep out, in what is derived for it.
    """
    for join in stream.tables:
        if isinstance(join, TableJoin):
            frame = _met(frame, join, among, filters.get(join.stream_alias, ()))
        else:
            frame = _exploded(frame, join, among)
    for column in stream.carried:
        if column.derived is not None and column.of_query and not column.of_table:
            value = F.expr(column.derived.text).cast(spark_type(str(column.type)))
            alias = column.derived.columns[0].alias
            value = value if alias not in filters else F.when(F.expr(all_of(filters[alias])), value)
            value = value if among is None else F.when(among, value)
            frame = frame.alias(alias).withColumn(column.name, value)
    return frame


def _met(frame: DataFrame, join: TableJoin, among: Column | None, only: tuple[str, ...]) -> DataFrame:
    """The rows joined with one table; `only` is what must hold of those that the query takes."""
    table, on, kind, passed = _table(frame.sparkSession, join), F.expr(join.on), join.kind, None
    if only and _MAY_FAIL.search(join.on) and (kind != "left" or _DIVIDES.search(join.on)):
        taken = _known_before(frame.alias(join.stream_alias), only)
        if taken is not None and kind == "left":
            on = F.when(taken, on)
        elif taken is not None:
            frame = frame.alias(join.stream_alias).where(taken if among is None else taken | ~among)
    if among is not None:
        on = among & on
        if kind == "left_semi" and join.compared:
            # Of one partner at most, since all that is asked of the table is equality with these columns.
            table, kind = table.select(*map(quoted, join.compared)).distinct(), "inner"
        if kind == "left_semi":
            # One row more, for the rows that are no answers to meet.
            table = table.withColumn(_MET, F.lit(True)).union(_one_row(table).withColumn(_MET, F.lit(False)))
            is_of_table = F.col(f"{quoted(join.alias)}.{_MET}")
            on = (on & is_of_table) | (~among & ~is_of_table)
        if kind == "inner":
            kind, table = "left", table.withColumn(_MET, F.lit(True))
            passed = ~among | F.col(f"{quoted(join.alias)}.{_MET}")
    # In the rows' own order, which a shuffle would lose.
    met = frame.alias(join.stream_alias).join(F.broadcast(table).alias(join.alias), on, kind)
    met = met if passed is None else met.where(passed)
    kept = [F.col(f"{quoted(join.stream_alias)}.{quoted(name)}") for name in frame.columns]
    if join.kind in ("inner", "left"):
        columns = [(name, f"{quoted(join.alias)}.{quoted(name)}") for name, _ in join.columns]
        kept += [F.col(text).alias(column_of(join.alias, name)) for name, text in columns]
    return met.select(*kept)


def _known_before(frame: DataFrame, conditions: tuple[str, ...]) -> Column | None:
    """Those that are about columns that there are before the join, and say the same each time they are asked."""
    found: list[str] = []
    for condition in conditions:
        try:
            asked = frame.select(F.expr(condition))
        except AnalysisException:
            continue
        expressions = asked._jdf.queryExecution().analyzed().expressions()
        if all(expressions.apply(n).deterministic() for n in range(expressions.size())):
            found.append(condition)
    return F.expr(all_of(found)) if found else None


def _table(spark: SparkSession, join: TableJoin) -> DataFrame:
    """A table, or what a query makes of some."""
    if isinstance(join.storage, Storage):
        return read_table(spark, join.table, join.columns, join.storage)
    read: dict[str, Any] = {
        table.key: read_table(spark, table.name, table.columns, table.storage) for table in join.storage.tables
    }
    made = spark.sql(join.storage.text, **read).toDF(*(name for name, _ in join.columns))
    require_types(made, join.columns, join.table)
    return made


def _one_row(table: DataFrame) -> DataFrame:
    """A row of NULLs with the columns of a table."""
    columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in table.schema]
    return table.sparkSession.range(1).select(*columns)


def _exploded(frame: DataFrame, made: Exploded, among: Column | None) -> DataFrame:
    """Each row once for each element."""
    value = F.expr(made.text) if among is None else F.when(among, F.expr(made.text))
    names = ["pos", "key", "value"] if "key" in made.parts else ["pos", "col"]
    own = [F.col(f"{quoted(made.stream_alias)}.{quoted(name)}") for name in frame.columns]
    rows = frame.alias(made.stream_alias).select(*own, F.posexplode_outer(value).alias(*(f"__{n}" for n in names)))
    if not made.is_outer:
        has_element = F.col("__pos").isNotNull()
        rows = rows.where(has_element if among is None else has_element | ~among)
    parts = zip(made.columns, made.parts, strict=True)
    added = [F.expr(f"__{part}").alias(column_of(made.alias, name)) for (name, _), part in parts]
    return rows.select(*map(quoted, frame.columns), *added)


def require_types(frame: DataFrame, columns: Iterable[tuple[str, str]], what: str) -> None:
    """Raise DataError where Spark gives a column another type than the query was planned for."""
    found = {field.name: field.dataType for field in frame.schema}
    for name, kind in columns:
        struct = StructType.fromDDL(f"c {spark_type(kind)}")
        assert isinstance(struct, StructType)
        if found[name] != struct.fields[0].dataType:
            raise DataError(
                f"column {name} of {what} is {kind} by what is known without Spark, "
                f"and Spark makes it {found[name].simpleString().upper()}",
                hint=f"say which is meant: CAST(… AS {kind}) AS {name}",
            )
