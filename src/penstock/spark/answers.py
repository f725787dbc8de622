"""From packed rows of the core to the columns of SELECT, with Spark evaluating what are expressions.

Where somebody after SELECT must be told what is no row of the answer (how far it has come), that goes along beside the
columns, as TOLD has it: rows of NULLs on which nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.clauses import Aggregate, Output, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.runtime.group.between_stages import output_types
from penstock.spark.groups import with_conditions
from penstock.spark.operator import ANSWER
from penstock.spark.parquet_sink import PackedAnswer
from penstock.spark.types import arrow_schema, carried, restored
from penstock.spark.unpack import TOLD, ToldUnpacker, Unpacker, output_columns, restored_columns

_TOLD_COLUMNS = f"{TOLD[0]} STRING, {TOLD[1]} BINARY"


def selected(answers: DataFrame, query: Query, plan: Plan) -> DataFrame:
    """The columns of SELECT, from packed rows (payload) of a core that hands out columns of streams."""
    columns = output_columns(plan)
    rows = answers.mapInArrow(Unpacker(arrow_schema(columns)), columns).selectExpr(*restored_columns(plan))
    return answered(rows, query, plan)


def selected_and_told(told: DataFrame, query: Query, plan: Plan) -> DataFrame:
    """The columns of SELECT and TOLD, from all that a core hands out (kind, payload)."""
    columns = f"{output_columns(plan)}, {_TOLD_COLUMNS}"
    rows = told.mapInArrow(ToldUnpacker(arrow_schema(columns)), columns).selectExpr(*restored_columns(plan), *TOLD)
    return answered(rows, query, plan, beside=TOLD)


def packed_answer(answers: DataFrame, query: Query, plan: Plan) -> PackedAnswer | None:
    """The same before it is unpacked, if there is nothing to evaluate."""
    if plan.conditions or not all(isinstance(output.value, ColumnRef) for output in query.outputs):
        return None
    names = {c.name: c.output for c in plan.selected if c.output is not None}
    kinds = dict(output_types(plan))
    columns = tuple(names[output.name] for output in query.outputs)
    return PackedAnswer(answers, columns, tuple(kinds[column] for column in columns))


def restored_answers(answers: DataFrame, evaluated: DataFrame) -> DataFrame:
    """Rows (payload) that went through another stage after SELECT, in the columns that they had before it."""
    schema = carried_rows(evaluated).schema
    rows = answers.mapInArrow(Unpacker(arrow_schema(schema)), schema)
    return rows.selectExpr(*(restored(f.name, f.dataType.simpleString()) for f in evaluated.schema))


def restored_and_told(told: DataFrame, evaluated: DataFrame) -> DataFrame:
    """The same with TOLD beside them, from all that the stage hands out (kind, payload)."""
    schema = carried_rows(evaluated).schema.add(TOLD[0], "string").add(TOLD[1], "binary")
    rows = told.mapInArrow(ToldUnpacker(arrow_schema(schema)), schema)
    return rows.selectExpr(*(restored(f.name, f.dataType.simpleString()) for f in evaluated.schema), *TOLD)


def carried_rows(rows: DataFrame) -> DataFrame:
    """The rows as Arrow can carry them."""
    return rows.selectExpr(*(carried(f.name, f.dataType.simpleString()) for f in rows.schema))


def answered(rows: DataFrame, query: Query, plan: Plan, beside: tuple[str, ...] = ()) -> DataFrame:
    """The columns of SELECT; expressions see each stream as a struct under its alias, so they stand as written.

    With TOLD `beside` them, rows that are no answer are not evaluated.
    """
    names = {c.name: c.output for c in plan.selected if c.output is not None}
    aliases = dict.fromkeys(o.alias for o in plan.outputs)
    structs = [
        F.struct(*(F.col(quoted(o.name)).alias(o.column) for o in plan.outputs if o.alias == alias)).alias(alias)
        for alias in aliases
    ]
    needs_structs = bool(plan.conditions) or any(not isinstance(o.value, ColumnRef) for o in query.outputs)
    shown = rows.select("*", *structs) if needs_structs else rows
    shown = with_conditions(shown, plan, beside)
    found = [_column(output, names) for output in query.outputs]
    if beside:
        is_answer = F.col(TOLD[0]) == ANSWER
        found = [F.when(is_answer, c).alias(o.name) for c, o in zip(found, query.outputs, strict=True)]
    return shown.select(*found, *beside)


def _column(output: Output, names: Mapping[str, str]) -> Column:
    match output.value:
        case ColumnRef():
            return F.col(quoted(names[output.name])).alias(output.name)
        case TimeWindow() | Aggregate():
            raise UsageError(f"{output.value} is for GROUP BY")
        case expression:
            return F.expr(expression.text).alias(output.name)
