"""What model/functions.py claims of Spark's functions, asked of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.model.functions import (
    AROUND_TIMES,
    DETERMINISTIC,
    MORE_DETERMINISTIC,
    RISES_WITH_FIRST,
    STRICT,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
)
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
    # Spark is asked for them in other words: windows as columns in everyday.sql.
    WINDOW_START,
    WINDOW_END,
    WINDOW_TIME,
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
    for name in sorted(DETERMINISTIC - MORE_DETERMINISTIC - AROUND_TIMES - _NOT_CALLED):
        boolean = name in ("and", "or")
        call = _calls(name, "(n > 0)" if boolean else "n", "TRUE" if boolean else "1")[0]
        plan = frame.selectExpr(f"{call} AS c")._jdf.queryExecution().analyzed()
        assert plan.deterministic(), call


_CALLED = """
initcap(s) translate(s,'a','b') replace(s,'a','b') lpad(s,3,'x') rpad(s,3,'x') left(s,2) right(s,2) repeat(s,2)
reverse(s) instr(s,'a') locate('a',s) split_part(s,',',1) substring_index(s,',',1) regexp_replace(s,'a','b')
regexp_extract(s,'a',0) startswith(s,'a') endswith(s,'a') contains(s,'a') md5(s) sha1(s) sha2(s,256) crc32(s) hash(s)
xxhash64(s) hex(s) base64(x) ascii(s) levenshtein(s,'a') soundex(s) octet_length(s) bit_length(s) nvl2(s,1,2)
date_trunc('DAY',z) trunc(y,'MM') to_date(s) to_timestamp(s) to_timestamp_ntz(s) date_add(y,1) date_sub(y,1)
add_months(y,1) last_day(y) next_day(y,'Mon') datediff(y,y) date_diff(y,y) timestampdiff(HOUR,z,z)
timestampadd(HOUR,1,z) months_between(y,y) date_format(z,'y') from_unixtime(n) unix_timestamp(z) to_unix_timestamp(z)
unix_seconds(z) unix_millis(z) unix_micros(z) unix_date(y) date_from_unix_date(n) make_date(n,1,1) quarter(y)
dayofweek(y) weekday(y) dayofyear(y) weekofyear(y) dayname(y) monthname(y)
convert_timezone('UTC','Asia/Tokyo',z) make_timestamp(n,1,1,1,1,1) hour(z) minute(z) second(z)
extract(YEAR/**/FROM/**/y)
date_part('year',y) pmod(n,2) bround(n) sqrt(n) cbrt(n) exp(n) ln(n) log10(n) log2(n) pow(n,2) power(n,2) sign(n)
signum(n) degrees(n) radians(n) positive(n) negative(n)
array(n,1) split(s,',') get(array(n),0) element_at(array(n),1) try_element_at(array(n),1) size(array(n))
cardinality(array(n)) array_contains(array(n),1) array_join(array(s),',') array_distinct(array(n))
array_position(array(n),1) array_max(array(n)) array_min(array(n)) sort_array(array(n)) slice(array(n),1,1)
map_keys(map(n,s)) map_values(map(n,s)) named_struct('a',n) struct(n) get_json_object(s,'$.a')
"""


def test_what_else_is_called_deterministic_is_so_to_spark(spark: SparkSession) -> None:
    calls = _CALLED.split()
    assert {call.partition("(")[0] for call in calls} == MORE_DETERMINISTIC
    columns = ["CAST(id AS INT) AS n", "CAST(id AS STRING) AS s", "CAST('a' AS BINARY) AS x"]
    frame = spark.range(1).selectExpr(*columns, "DATE '2024-01-01' AS y", "TIMESTAMP '2024-01-01' AS z")
    plan = frame.selectExpr(*(f"{call} AS c{n}" for n, call in enumerate(calls)))._jdf.queryExecution().analyzed()
    assert plan.deterministic()


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
    for name in sorted(RISES_WITH_FIRST - {WINDOW_START, WINDOW_END, WINDOW_TIME}):
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
