"""What model/term_types.py says of expressions and aggregates, asked of Spark itself: its type, or no claim at all."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from penstock.model.term_types import output_type
from penstock.spark.types import spark_type
from penstock.sql import parse_script

_COLUMNS = {
    "t": "TINYINT",
    "h": "SMALLINT",
    "i": "INT",
    "j": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "m": "DECIMAL(10,2)",
    "w": "DECIMAL(38,10)",
    "n": "DECIMAL(5,0)",
    "b": "BOOLEAN",
    "s": "STRING",
    "v": "VARCHAR(7)",
    "x": "BINARY",
    "y": "DATE",
    "z": "TIMESTAMP",
    "u": "TIMESTAMP_NTZ",
}
_OTHERS = """
s ; v ; lower(s) ; upper(v) ; trim(s) ; ltrim(v) ; trim(BOTH 'x' FROM s) ; concat(s, v) ; s || i ; x || x
; concat(x, s) ; substr(s, 2) ; substring(v, 1, 2) ; substr(x, 1, 2) ; left(s, 2) ; replace(s, 'a')
; concat_ws(',', s, v) ; length(s) ; length(x) ; char_length(v) ; instr(s, 'a') ; position('a' IN s)
; lpad(s, 5, ' ') ; reverse(s) ; md5(s) ; sha2(s, 256) ; hash(s, i) ; xxhash64(s) ; crc32(s) ; hex(i) ; initcap(s)
; repeat(s, 2) ; translate(s, 'a', 'b') ; split_part(s, ',', 1) ; regexp_replace(s, 'a', 'b')
; regexp_extract(s, 'a', 0) ; format_string('%s', s) ; ascii(s) ; levenshtein(s, v) ; unhex(s) ; base64(x) ; i = l
; i <> 3 ; s < v ; y <= z ; i <=> NULL ; b AND i > 2 ; b OR NOT b ; s LIKE 'a%' ; s RLIKE 'a' ; i IN (1, 2)
; i BETWEEN 1 AND 2 ; s IS NULL ; s IS NOT NULL ; isnan(d) ; startswith(s, 'a') ; contains(s, v)
; CAST(i AS STRING) ; CAST(s AS DECIMAL(7,3)) ; s :: INT ; try_cast(s AS DATE) ; int(s) ; string(i) ; date(z)
; CAST(s AS VARCHAR(3)) ; timestamp(s) ; 1 ; 10L ; 3000000000 ; 1.50 ; 0.05 ; 1e3 ; 1.5D ; 2S ; 'q' ; TRUE ; 1.5BD
; DATE '2020-01-01' ; TIMESTAMP '2020-01-01' ; -i ; -m ; ~i ; i & l ; i | 3 ; h << 2 ; l >> 1 ; to_date(s)
; year(y) ; month(z) ; dayofweek(y) ; weekofyear(z) ; hour(z) ; minute(z) ; second(z) ; quarter(y)
; extract(YEAR FROM z) ; extract(SECOND FROM z) ; date_part('hour', z) ; date_trunc('HOUR', z)
; date_trunc('DAY', y) ; date_trunc('DAY', u) ; trunc(y, 'MM')
; dateadd(DAY, 3, z) ; dateadd(y, 3) ; date_add(DAY, 3, z) ; date_add(y, 3) ; date_sub(y, 3) ; last_day(y)
; add_months(y, 2) ; next_day(y, 'Mon') ; datediff(y, z) ; datediff(HOUR, z, z) ; timestampdiff(MINUTE, z, z)
; unix_timestamp(z) ; to_unix_timestamp(z) ; unix_millis(z) ; unix_date(y) ; from_unixtime(l)
; date_format(z, 'yyyy') ; to_timestamp(s) ; timestamp_millis(l) ; timestamp_seconds(l) ; months_between(y, y)
; z + INTERVAL 1 HOUR ; z - INTERVAL '2' DAYS ; u + INTERVAL 1 DAY ; y + INTERVAL 1 DAY ; y + INTERVAL 3 HOURS
; y + 1 ; y - 1 ; z - z ; y - y ; INTERVAL 1 HOUR + z ; from_utc_timestamp(z, 'Asia/Tokyo') ; to_timestamp_ntz(s)
; timestampadd(HOUR, 2, z) ; make_date(2020, 1, 1) ; date_from_unix_date(i) ; current_date() ; now()
; coalesce(i, NULL) ; coalesce(NULL, s) ; nvl(i, l) ; ifnull(s, 'x') ; nullif(i, l) ; nvl2(s, i, l) ; if(b, i, l)
; if(b, m, 1) ; if(b, s, NULL) ; CASE WHEN b THEN i ELSE l END ; CASE i WHEN 1 THEN m ELSE d END
; CASE WHEN b THEN 1 WHEN i > 3 THEN NULL ELSE if(b, 2, 3.5) END ; CASE WHEN b THEN y END
; CASE i WHEN 1 THEN s END ; greatest(i, l) ; least(m, 3) ; greatest(y, z) ; coalesce(y, z) ; coalesce(u, z)
; coalesce(s, v) ; div(i, j) ; i div 2 ; m div 2 ; pmod(i, 3) ; pmod(m, n) ; sqrt(i) ; pow(i, 2) ; ln(d)
; round(m, 1) ; round(d, 1) ; round(w, 4) ; i * 1.5 ; m * 2 ; (m + 1) * (m - 1) / 3 ; i + NULL ; m + NULL
; w + w * w ; l * 0.001 ; i / 2 ; (i + l) % 7 ; CAST(i AS DOUBLE) / l ; rand() ; octet_length(s) ; uuid()
; size(split(s, ','))
"""
_PAIRS = ["t", "h", "i", "l", "f", "d", "m", "w", "n"]
_NUMBERS = [
    *(f"{one} {op} {other}" for op in ("+", "*", "/", "%") for one in _PAIRS for other in _PAIRS),
    *(f"{one} {op} 3" for op in ("+", "-", "*", "/", "%") for one in _PAIRS),
    *(f"coalesce({one}, {other})" for one in _PAIRS for other in _PAIRS if "w" not in (one, other)),
    *(f"{f}({one})" for f in ("abs", "ceil", "floor", "round") for one in _PAIRS),
]
_ARRAYS = ["split(s, ',')", "array(1, 2)", "array(i, l)", "array(m, n)", "array(s, v)", "array(z)", "split(s, ',')[0]"]
_STRUCTS = ["struct(i, l)", "named_struct('a', i, 'b', s)"]
_KNOWN = [*_NUMBERS, *(e.strip() for e in _OTHERS.split(";")), *_ARRAYS, *_STRUCTS]
_UNCLAIMED = ["s + 1", "coalesce(s, i)", "NULL", "map(s, i)", "array(NULL)"]
_AGGREGATES = [
    *(f"{f}({c})" for f in ("sum", "avg", "min", "max", "count", "median") for c in _PAIRS),
    *("count(*)", "count(DISTINCT s)", "min(s)", "max(z)", "min(y)", "sum(i * 2)", "avg(m + 1)", "sum(l + 0.5)"),
    *("sum(i) / count(*)", "100 * sum(m) / sum(n)", "avg(i) + 1", "max(z) - min(z)", "coalesce(max(s), 'none')"),
]


def _norm(text: str) -> str:
    return re.sub(r"\s", "", spark_type(text).upper())


def _script(items: list[str]) -> str:
    declared = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    shown = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
    return f"CREATE STREAM a ({declared}); SELECT {shown} FROM a;"


def _claims(items: list[str]) -> list[str | None]:
    query = parse_script(_script(items)).queries[0]
    found = [output_type(output, query.type_of) for output in query.answer]
    return [None if kind is None else _norm(kind.text) for kind in found]


def _answers(spark: SparkSession, items: list[str]) -> list[str]:
    nulls = spark.range(1).selectExpr(*(f"CAST(NULL AS {spark_type(k)}) AS {c}" for c, k in _COLUMNS.items()))
    frame = nulls.selectExpr(*(f"{item} AS c{n}" for n, item in enumerate(items)))
    return [_norm(field.dataType.simpleString()) for field in frame.schema]


def test_an_expression_has_the_type_that_spark_gives_it(spark: SparkSession) -> None:
    claims, answers = _claims(_KNOWN), _answers(spark, _KNOWN)
    wrong = {e: (c, a) for e, c, a in zip(_KNOWN, claims, answers, strict=True) if c != a}
    assert not wrong


def test_nothing_is_claimed_where_it_is_not_certain() -> None:
    assert _claims(_UNCLAIMED) == [None] * len(_UNCLAIMED)


def test_an_aggregate_has_the_type_that_spark_gives_it(spark: SparkSession) -> None:
    claims, answers = _claims(_AGGREGATES), _answers(spark, _AGGREGATES)
    wrong = {e: (c, a) for e, c, a in zip(_AGGREGATES, claims, answers, strict=True) if c != a}
    assert not wrong


def test_the_ends_of_a_window_have_the_type_of_its_clock() -> None:
    script = "CREATE STREAM a (z TIMESTAMP, l INT, EVENT TIME z);"
    script += "SELECT window.start AS s, window AS w, count(*) AS n FROM a GROUP BY window(z, '1 minute');"
    query = parse_script(script).queries[0]
    types = [str(output_type(output, query.type_of)) for output in query.answer]
    assert types == ["TIMESTAMP", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>", "BIGINT"]
