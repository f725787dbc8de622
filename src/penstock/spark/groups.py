"""The second stage of GROUP BY on Spark: what the cells give is dealt out by group, added up, and shown as SELECT says.

Where groups or aggregates are of expressions, Spark evaluates them over the rows of the first stage, which are as many
as there are choices of their columns, and not over results of the join. What they come out as is known only then, so
the plan that the workers obey is completed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import NotSupportedYet, UsageError
from penstock.model.clauses import COLLECTS, PICKS, QUANTILES, TIME, VARIANCES, Aggregate, Formula, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.query import Query
from penstock.plan.aggregate import AggregateColumn, AggregatePlan
from penstock.plan.plan import Plan
from penstock.runtime import given_name, session_end
from penstock.runtime.group.between_stages import final_type, measure_columns
from penstock.spark.arrow_map import mapped
from penstock.spark.dealer import DEALT, Dealer
from penstock.spark.operator import ANSWER
from penstock.spark.types import arrow_schema, carried, carried_type, restored, spark_type
from penstock.spark.unpack import (
    TOLD,
    EvaluatedRedealer,
    ToldUnpacker,
    Unpacker,
    output_columns,
    restored_columns,
)

_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_NESTED = ("ARRAY", "MAP", "STRUCT", "VARIANT")


@dataclass(frozen=True)
class Dealt:
    """What the second stage is given, the plan by which it works, and the types of its groups."""

    rows: DataFrame
    plan: Plan
    key_types: Mapping[str, str]


def dealer_of(plan: Plan, keys: tuple[int, ...]) -> Dealer | None:
    """How cells deal out to the second stage what they give; None where Spark evaluates something in between."""
    if plan.aggregate is not None:
        if plan.aggregate.is_evaluated or plan.conditions:
            return None
        given = arrow_schema(", ".join(_given_columns(plan, plan.aggregate)))
        return Dealer(keys, plan.aggregate.dealt_by, plan.aggregate.sets, given)
    if plan.distinct and not plan.distinct_over_expressions:
        return Dealer(keys, schema=arrow_schema(output_columns(plan)))
    return None


def deal(told: DataFrame, plan: Plan, keys: tuple[int, ...]) -> Dealt:
    """What the cells give, dealt out by group: (target, kind, payload), or (kind, payload) where they could not."""
    aggregate = plan.aggregate
    assert aggregate is not None
    names = {key.name: key.column for key in aggregate.keys}
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    declared = {o.name: kinds[o.alias, o.column] for o in plan.outputs}
    if dealer_of(plan, keys) is not None:
        types = {name: declared.get(column, "BIGINT") for name, column in names.items()}
        _require_groups(aggregate, types)
        return Dealt(told, plan, types)
    evaluated = _evaluated(told, plan, aggregate)
    _require_same_values(evaluated)
    types = {field.name: field.dataType.simpleString() for field in evaluated.schema}
    types |= {name: types[column] for name, column in names.items()}
    made = {name: types[name] for column in aggregate.columns for name in column.expressions}
    complete = replace(aggregate, columns=tuple(column.with_types(made) for column in aggregate.columns))
    _require_groups(complete, types)
    moved = evaluated.selectExpr(*(carried(f.name, f.dataType.simpleString()) for f in evaluated.schema))
    rows = mapped(moved, EvaluatedRedealer(Dealer(keys, aggregate.dealt_by, aggregate.sets)), DEALT)
    return Dealt(rows, replace(plan, aggregate=complete), {name: types[name] for name in names})


def _given_columns(plan: Plan, aggregate: AggregatePlan) -> list[str]:
    """All that the cells give, as Spark writes a schema."""
    return [text for text in (output_columns(plan), *_measure_columns(plan, aggregate)) if text]


def _measure_columns(plan: Plan, aggregate: AggregatePlan) -> list[str]:
    """What they give beside the columns of the streams."""
    return [f"{name} {carried_type(kind)}" for name, kind in measure_columns(plan, aggregate)]


def _evaluated(told: DataFrame, plan: Plan, aggregate: AggregatePlan) -> DataFrame:
    plain = _measure_columns(plan, aggregate)
    schema = ", ".join([*_given_columns(plan, aggregate), f"{TOLD[0]} STRING", f"{TOLD[1]} BINARY"])
    passed = [text.partition(" ")[0] for text in plain]
    rows = told.mapInArrow(ToldUnpacker(arrow_schema(schema)), schema)
    rows = rows.selectExpr(*restored_columns(plan), *passed, *TOLD)
    structs = [
        F.struct(*(F.col(quoted(o.name)).alias(o.column) for o in plan.outputs if o.alias == alias)).alias(alias)
        for alias in dict.fromkeys(o.alias for o in plan.outputs)
    ]
    made = {key.column: key.expression for key in aggregate.keys if key.expression is not None}
    for column in aggregate.columns:
        made |= column.expressions
    wanted = [key.column for key in aggregate.keys if key.expression is None]
    wanted += [name for column in aggregate.columns for name in column.columns if name not in made]
    is_answer = F.col(TOLD[0]) == ANSWER
    # What is no answer is not evaluated.
    values = [F.when(is_answer, F.expr(text)).alias(name) for name, text in made.items()]
    straight = [F.col(quoted(name)) for name in dict.fromkeys([*wanted, *passed])]
    return with_conditions(rows.select("*", *structs), plan, TOLD).select(*straight, *values, *TOLD)


def with_conditions(rows: DataFrame, plan: Plan, told: tuple[str, ...]) -> DataFrame:
    """The joined rows, each stream a struct under its alias, that pass what Spark is asked of them.

    With TOLD among the columns, what is no answer passes.
    """
    for condition in plan.conditions:
        passes = F.expr(condition)
        rows = rows.where((F.col(told[0]) != ANSWER) | passes if told else passes)
    return rows


def _require_same_values(evaluated: DataFrame) -> None:
    """Raise on expressions of which Spark says that they give another value each time."""
    expressions = evaluated._jdf.queryExecution().analyzed().expressions()
    for place in range(expressions.size()):
        if not (expression := expressions.apply(place)).deterministic():
            text = expression.sql()
            raise NotSupportedYet(
                f"{text} may give another value each time: nothing is grouped by it or summed up of it"
            )


def _require_groups(aggregate: AggregatePlan, types: Mapping[str, str]) -> None:
    for key in aggregate.keys:
        if "VARIANT" in types[key.name].upper():
            raise UsageError(f"nothing can be grouped by {key.text}: Spark has no equality for VARIANT")
        _require_no_collation(key.text, types[key.name])
    ordering = () if aggregate.top is None else tuple(by.name for by in aggregate.top.ordering)
    for column in aggregate.columns:
        for kind in (column.type, *(argument.type for argument in column.more)):
            _require_no_collation(column.text, kind or "")
        if column.type is not None:
            _require_argument(column, column.type.upper())
        if column.value in ordering and (column.type or "").upper().startswith(_NESTED):
            raise NotSupportedYet(
                f"nothing is ordered by {column.text}, which is {column.type}",
                hint="order by what it is made of: s.a, s.b",
            )


def _require_no_collation(text: str, kind: str) -> None:
    """Raise on texts of which a collation calls different ones equal: groups tell them apart by their bytes."""
    if "COLLATE" in kind.upper():
        raise NotSupportedYet(
            f"{text}: {kind} is not grouped or compared by its collation yet", hint="write lower(s), or the like"
        )


def _require_argument(column: AggregateColumn, kind: str) -> None:
    if column.function in ("sum", "avg", *QUANTILES, *VARIANCES) and not kind.startswith(_NUMBERS):
        raise UsageError(f"{column.text}: {kind} is no number", hint="cast it: CAST(… AS DOUBLE)")
    if column.function in ("min", "max") and kind.startswith(_NESTED):
        raise NotSupportedYet(f"{column.text}: the extremes of {kind} cannot be worked out yet")
    if column.function in COLLECTS and "INTERVAL" in kind:
        raise NotSupportedYet(f"{column.text}: lists of {kind} cannot be carried yet", hint="collect a number instead")
    if column.keeps_values and ("MAP<" in kind or "VARIANT" in kind):
        raise NotSupportedYet(f"{column.text}: values of {kind} cannot be compared, so they cannot be kept apart")
    for argument in column.more if column.function in PICKS else ():
        if argument.type is not None and argument.type.upper().startswith(_NESTED):
            raise NotSupportedYet(f"{column.text}: nothing is picked by values of {argument.type.upper()} yet")


def show(answers: DataFrame, query: Query, dealt: Dealt, beside: tuple[str, ...] = ()) -> DataFrame:
    """From packed rows of the second stage to the columns of SELECT.

    With TOLD `beside` them, what is handed in is (kind, payload), and rows that are no answer are not evaluated.
    """
    aggregate = dealt.plan.aggregate
    assert aggregate is not None
    clocks = {
        name.name: _clock(query, key)
        for key, name in zip(query.group_by, aggregate.keys, strict=True)
        if isinstance(key, TimeWindow)
    }
    types = {name: clocks.get(name) or kind for name, kind in dealt.key_types.items()}
    sessions = [key.name for key in aggregate.keys if key.gap is not None]
    types |= {session_end(name): types[name] for name in sessions}
    types |= {given_name(n): spark_type(final_type(column)) for n, column in enumerate(aggregate.columns)}
    schema = ", ".join(f"{quoted(name)} {carried_type(kind)}" for name, kind in types.items())
    if beside:
        schema += f", {TOLD[0]} STRING, {TOLD[1]} BINARY"
    unpacker = ToldUnpacker(arrow_schema(schema)) if beside else Unpacker(arrow_schema(schema))
    rows = answers.mapInArrow(unpacker, schema)
    rows = rows.selectExpr(*(restored(name, kind) for name, kind in types.items()), *beside)
    named = {key: name.name for key, name in zip(query.group_by, aggregate.keys, strict=True)}
    by_alias: dict[str, list[tuple[str, str]]] = {}
    for key, name in named.items():
        if isinstance(key, ColumnRef):
            by_alias.setdefault(key.alias, []).append((key.column, name))
    structs = [
        F.struct(*(F.col(quoted(name)).alias(column) for column, name in columns)).alias(alias)
        for alias, columns in by_alias.items()
    ]
    windows = {key.whole: name for key, name in named.items() if isinstance(key, TimeWindow)}
    found: list[Column] = []
    number = 0
    for output in query.outputs:
        match output.value:
            case Aggregate():
                found.append(F.col(given_name(number)))
                number += 1
            case TimeWindow() as window:
                name = windows[window.whole]
                ends = _window(name, window, types[name])
                is_sure = window.whole in query.sure_keys
                found.append(ends if is_sure else F.when(F.col(quoted(name)).isNotNull(), ends))
            case value if value in named:
                found.append(F.col(quoted(named[value])))
            case expression:
                found.append(F.expr(str(expression)))
    called = [f"__ps_group_{place}" for place in range(len(found))]
    groups = rows.select("*", *structs)
    groups = groups.select(
        *by_alias, *(column.alias(name) for column, name in zip(found, called, strict=True)), *beside
    )
    values = {output.value: name for output, name in zip(query.outputs, called, strict=True)}
    if query.having is not None:
        passes = F.expr(query.having.text(values))
        groups = groups.where(passes | (F.col(TOLD[0]) != ANSWER) if beside else passes)
    shown = [F.expr(o.text(values)) if isinstance(o, Formula) else F.col(values[o.value]) for o in query.answer]
    if beside:
        shown = [F.when(F.col(TOLD[0]) == ANSWER, column) for column in shown]
    return groups.select(*(column.alias(o.name) for column, o in zip(shown, query.answer, strict=True)), *beside)


def _clock(query: Query, key: TimeWindow) -> str:
    """The type of the ends of a window."""
    kind = query.type_of(key.column)
    assert kind is not None
    return "BIGINT" if kind.is_integer else "TIMESTAMP_NTZ" if kind.text == "TIMESTAMP_NTZ" else "TIMESTAMP"


def _window(name: str, window: TimeWindow, kind: str) -> Column:
    ticks = window.span.ticks
    length = str(ticks) if kind == "BIGINT" else f"INTERVAL '{ticks // 1_000_000}.{ticks % 1_000_000:06d}' SECOND"
    start, end = F.col(quoted(name)), F.expr(f"{quoted(name)} + {length}")
    if window.is_session:
        end = F.col(session_end(name))
    if window.end == TIME:
        return end - F.expr("INTERVAL '0.000001' SECOND")
    if window.end is not None:
        return start if window.end == "start" else end
    return F.struct(start.alias("start"), end.alias("end"))
