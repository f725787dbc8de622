"""What the core makes of an expression, and what Spark makes of it: the same, row for row, or the core does not try."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.model.core_terms import CoreTerm, core_term
from penstock.model.expressions import ColumnRef, Expression
from penstock.runtime.columns.term_values import term_values
from penstock.sql import parse_script


def _at(day: int, hour: int, minute: int = 0) -> dt.datetime:
    return dt.datetime(2024, 1, day, hour, minute, tzinfo=dt.UTC)


_TYPES = {
    "i": ("INT", pa.int32()),
    "j": ("INT", pa.int32()),
    "l": ("BIGINT", pa.int64()),
    "t": ("TINYINT", pa.int8()),
    "f": ("FLOAT", pa.float32()),
    "d": ("DOUBLE", pa.float64()),
    "m": ("DECIMAL(6,2)", pa.decimal128(6, 2)),
    "b": ("BOOLEAN", pa.bool_()),
    "c": ("BOOLEAN", pa.bool_()),
    "s": ("STRING", pa.string()),
    "v": ("STRING", pa.string()),
    "y": ("DATE", pa.date32()),
    "x": ("DATE", pa.date32()),
    "z": ("TIMESTAMP", pa.timestamp("us", "UTC")),
    "w": ("TIMESTAMP", pa.timestamp("us", "UTC")),
}
_VALUES: dict[str, list[Any]] = {
    "i": [None, 0, 1, -7, 3],
    "j": [None, 2, -2, 5, 3],
    "l": [3, None, 0, 2**40, -7],
    "t": [1, None, 3, -5, 0],
    "f": [1.5, None, float("nan"), -0.0, 3.0],
    "d": [None, float("nan"), 0.0, 3.0, float("inf")],
    "m": [None, "1.50", "3.00", "0.00", "-7.25"],
    "b": [None, True, False, True, False],
    "c": [True, False, None, True, None],
    "s": [None, "", "a", "B", "ä%"],
    "v": ["a", None, "", "ab", "z"],
    "y": [None, dt.date(2024, 1, 1), dt.date(2024, 3, 1), dt.date(1969, 12, 31), dt.date(2024, 1, 2)],
    "x": [dt.date(2024, 1, 1), None, dt.date(2023, 12, 31), dt.date(2024, 3, 1), dt.date(2024, 1, 2)],
    "z": [
        None,
        *(dt.datetime(2024, 1, 1, h, 30, tzinfo=dt.UTC) for h in (0, 1, 5)),
        dt.datetime(1969, 1, 1, tzinfo=dt.UTC),
    ],
    "w": [
        *(dt.datetime(2024, 1, 1, h, tzinfo=dt.UTC) for h in (0, 1)),
        None,
        *(dt.datetime(2024, 1, d, tzinfo=dt.UTC) for d in (1, 3)),
    ],
}
_EVALUATED = """
i = j ; i <> j ; i < l ; i >= l ; i <=> j ; l <=> NULL ; t = l ; i = d ; f < d ; f = d ; d >= d ; d <=> f ; m > i
; m = l ; m <> 3 ; m <= 1.5 ; s = v ; s < v ; s <=> v ; s <> 'a' ; y = x ; y < x ; z > w ; z <> w ; b = c ; b <=> c
; y > DATE '2024-01-01' ; b AND c ; b OR c ; NOT b ; NOT (b OR c) AND i = j ; b OR i <> j ; i IS NULL
; s IS NOT NULL AND v IS NULL ; (i = j) IS NULL ; i IN (1, j, 3) ; i NOT IN (1, j) ; s IN ('a', v)
; i BETWEEN j AND l ; i NOT BETWEEN 0 AND j ; b AND NULL ; b OR NULL ; i + j > l ; i - j = 5 ; i * 2 <> l
; l % 5 = i % 3 ; -i = j ; abs(i - j) < 4 ; i + 1 = t + j ; l div 2 = i
; CASE WHEN i <> 0 THEN l div i ELSE 0 END > 2 ; CASE i WHEN j THEN TRUE WHEN 0 THEN b ELSE c END
; CASE WHEN b THEN i WHEN c THEN l END = 3 ; if(b, s, v) = 'a' ; coalesce(i, j, l) = 3
; coalesce(s, 'none') <> coalesce(v, 'none') ; nvl(i, l) > 0 ; nullif(i, j) IS NULL ; greatest(i, j, l) = 3
; least(m, i) < 1 ; greatest(s, v) = 'ab' ; coalesce(i, d) = 3 ; s || v = 'aab' ; concat(s, '-', v) > 'a-'
; (s || v) IS NULL ; z - w > INTERVAL 1 HOUR ; z + INTERVAL 30 MINUTES > w ; w - INTERVAL 2 DAYS < z
; y + INTERVAL 1 DAY = x ; y - x <= INTERVAL 1 DAY ; z - w < INTERVAL 1 DAY + INTERVAL 2 HOURS ; i / 2 > j
; CAST(i AS BIGINT) = l ; CAST(t AS INT) + i > 1
; d * 2 > f ; f + 1 = d ; d - f <= 1 ; i IS DISTINCT FROM j ; s IS DISTINCT FROM NULL ; (i = j) IS TRUE
; (i < j) IS NOT TRUE ; b IS FALSE ; (b AND c) IS NOT FALSE ; (i = j) IS UNKNOWN ; isnull(i) OR b ; isnotnull(s) = c
; b <> (i = j) ; i <> 0 AND l % i = 1 ; NOT (i <=> j) ; coalesce(y, x) > DATE '2024-01-01'
"""
_LEFT = [
    "lower(s) = v",
    "s LIKE v",
    "m + 1 > i",
    "y < z",
    "s = i",
    "CAST(i AS STRING) = s",
    "CAST(l AS INT) = i",
    "b < c",
    "d % 2 = 1",
    "rand() > d",
]


def _term(text: str) -> CoreTerm | None:
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in _TYPES.items())
    query = parse_script(f"CREATE STREAM a ({declared}); SELECT ({text}) AS c FROM a;").queries[0]
    value = query.outputs[0].value
    assert isinstance(value, Expression)
    return core_term(value.term, query.type_of)


def _table() -> Any:
    """All columns beside each other, in as many mixtures as chance brings; it is the same each time."""
    chance = random.Random(1)
    columns = {}
    for name, (_, kind) in _TYPES.items():
        rows = chance.choices(_VALUES[name], k=200)
        if pa.types.is_decimal(kind):
            columns[name] = pa.array(rows, pa.string()).cast(kind)
        else:
            columns[name] = pa.array(rows, kind)
    return pa.table(columns)


def test_the_core_evaluates_what_it_takes_as_spark_does(spark: SparkSession) -> None:
    expressions = [e.strip() for e in _EVALUATED.split(";")]
    terms = {e: _term(e) for e in expressions}
    assert not [e for e, term in terms.items() if term is None]
    table = _table()
    frame = spark.createDataFrame(table).selectExpr(*(f"({e}) AS c{n}" for n, e in enumerate(expressions)))
    rows = frame.collect()

    def read(ref: ColumnRef, places: Any) -> Any:
        return table[ref.column].take(pa.array(places))

    wrong = {}
    for number, (text, term) in enumerate(terms.items()):
        assert term is not None
        ours = term_values(term, read, np.arange(table.num_rows)).to_pylist()
        theirs = [row[number] for row in rows]
        if ours != theirs:
            wrong[text] = [(n, o, t) for n, (o, t) in enumerate(zip(ours, theirs, strict=True)) if o != t]
    assert not wrong


def test_the_core_leaves_to_spark_what_it_cannot_evaluate_the_same() -> None:
    assert [text for text in _LEFT if _term(text) is not None] == []
