"""What model/functions.py claims of Spark's functions, asked of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.model.functions import DETERMINISTIC, RISES_WITH_FIRST, STRICT
from penstock.sql import parse_script
from penstock.sql.trust import beyond

_INFIX = {
    *("+", "-", "*", "/", "%", "div", "&", "|", "^", "||", "=", "<>", "<", "<=", ">", ">=", "like", "ilike", "rlike"),
    *("<=>", "and", "or", "<<", ">>"),
}
_TWO = {"mod", "concat", "substring", "substr", "concat_ws", "coalesce", "nvl", "ifnull", "greatest", "least", "nullif"}
_NOT_CALLED = {
    "escape",
    "from_utc_timestamp",
    "to_utc_timestamp",
    "xor",
    "is null",
    "is not null",
    "in",
    "between",
    "case",
    "if",
    "interval",
    "field",
    "[]",
    "not",
    "~",
}


_OF_DATES = {"year", "month", "day", "dayofmonth"}


def _calls(name: str, one: str, other: str) -> list[str]:
    if name in _OF_DATES:
        return [f"{name}(date_from_unix_date({one}))"]
    if name in _INFIX:
        return [f"{one} {name} {other}", f"{other} {name} {one}"]
    if name in _TWO:
        return [f"{name}({one}, {other})", f"{name}({other}, {one})"]
    return [f"{name}({one})"]


def test_strict_functions_give_null_as_soon_as_an_argument_is_null(spark: SparkSession) -> None:
    calls = [call for f in sorted(STRICT - _NOT_CALLED) for call in _calls(f, "n", "1")]
    calls += ["NOT (n = 1)", "~n", "CAST(n AS STRING)", "n IN (1, 2)"]
    row = spark.sql("SELECT CAST(NULL AS INT) AS n").selectExpr(*(f"{c} AS c{i}" for i, c in enumerate(calls))).first()
    assert row is not None
    assert not {call: value for call, value in zip(calls, row, strict=True) if value is not None}
    assert len(calls) > len(STRICT)


def test_functions_called_deterministic_are_so_to_spark(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("CAST(id AS INT) AS n")
    for name in sorted(DETERMINISTIC - _NOT_CALLED):
        boolean = name in ("and", "or")
        call = _calls(name, "(n > 0)" if boolean else "n", "TRUE" if boolean else "1")[0]
        plan = frame.selectExpr(f"{call} AS c")._jdf.queryExecution().analyzed()
        assert plan.deterministic(), call


def test_functions_said_to_rise_rise(spark: SparkSession) -> None:
    """From one day, month or year to a later one, and from a number to one that is a day, or a million, larger."""
    arguments = {
        "date_trunc": "'DAY', {}",
        "trunc": "{}, 'MONTH'",
        "from_utc_timestamp": "{}, 'Asia/Tokyo'",
        "to_utc_timestamp": "{}, 'Asia/Tokyo'",
        "date_add": "{}, 3",
        "date_sub": "{}, 3",
        "add_months": "{}, 3",
        "coalesce": "{}, NULL",
        "nvl": "{}, NULL",
        "ifnull": "{}, NULL",
    }
    numbers = {"timestamp_seconds", "timestamp_millis", "timestamp_micros", "date_from_unix_date"}
    numbers |= {"floor", "ceil", "ceiling", "round", "abs", "bigint", "int", "coalesce", "nvl", "ifnull"}
    for name in sorted(RISES_WITH_FIRST):
        values = (
            ("1000", "2000000") if name in numbers else ("TIMESTAMP '2020-01-31 10:00:00'", "TIMESTAMP '2023-03-01'")
        )
        if name in ("unix_date", "date_add", "date_sub", "add_months", "last_day"):
            values = ("DATE '2020-01-31'", "DATE '2023-03-01'")
        if name.endswith(("to_timestamp", "to_date", "timestamp_ltz", "timestamp_ntz")) and not name.startswith("unix"):
            values = ("'2020-01-31'", "'2023-03-01'")
        one, other = (f"{name}({arguments.get(name, '{}').format(v)})" for v in values)
        row = spark.sql(f"SELECT {one} < {other} AS rises").first()
        assert row is not None
        assert row.rises, name


def test_functions_of_spark_that_run_any_method_are_refused_in_a_script_of_a_stranger(spark: SparkSession) -> None:
    """Asked of Spark itself, so that a new one is noticed."""
    found = {f.name for f in spark.catalog.listFunctions() if "reflect" in (f.className or "").lower()}
    assert {"reflect", "java_method", "try_reflect"} <= found
    for name in found:
        text = f"CREATE STREAM s (k BIGINT) USING json OPTIONS (path 'x'); SELECT {name}('a', 'b') AS r FROM s;"
        assert beyond(parse_script(text)), name
