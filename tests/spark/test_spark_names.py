"""Expressions without AS are named as Spark names them: asked of Spark, one by one."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import penstock

SCALARS = """
a; v.a; a + b; v.a + v.b; a + 1; a - b * 2; -a; - (a + 1); a / b; a % 2; a div 2; a = b; a <> b; a != b; a < b
a >= 1 AND b < 3; a > 1 OR ok; NOT ok; !ok; a > 1 AND b > 2 AND ok; a IS NULL; a IS NOT NULL; a IN (1, 2)
a NOT IN (1, 2); a BETWEEN 1 AND 2; a NOT BETWEEN 1 AND 2; s LIKE 'a%'; s NOT LIKE 'a%'; a <=> b; s || 'y'
s || s || 'z'; CASE WHEN a > 1 THEN 'x' ELSE 'y' END; CASE WHEN a > 1 THEN 'x' WHEN ok THEN s END; if(a > 1, 2, 3)
CAST(a AS BIGINT); a::BIGINT; CAST(p AS DECIMAL(10,3)); CAST(ts AS DATE); CAST(a AS DOUBLE) / 2; UPPER(v.s); int(s)
concat(s, 'x', s); coalesce(a, 0); nvl(a, 0); ifnull(a, 0); nullif(a, 0); abs(a); round(x, 2); floor(x); ceil(x)
sqrt(x); pow(x, 2); power(x, 2); exp(x); ln(x); log10(x); log2(x); cos(x); sin(x); tan(x); degrees(x); radians(x)
greatest(a, b); least(a, b); length(s); char_length(s); trim(s); ltrim(s); substring(s, 1, 2); substr(s, 1, 2)
replace(s, 'a', 'b'); split(s, '-'); regexp_replace(s, 'a', 'b'); regexp_extract(s, 'a', 0); reverse(s)
date_trunc('hour', ts); DATE_TRUNC('DAY', ts); to_date(ts); to_timestamp(s); date_format(ts, 'yyyy'); year(ts)
month(ts); day(ts); dayofmonth(ts); hour(ts); minute(ts); second(ts); date_add(d, 1); datediff(d, d); date_diff(d, d)
timestamp_millis(b); unix_millis(ts); ts - ts; 1; 1.5; 1.0; 'x'; true; FALSE; NULL; st.f; v.st.f; array(1, a)
size(r); named_struct('q', a); map('k', a); element_at(r, 1); hash(a); md5(s); crc32(s); mod(a, 2); sign(x); a & 1
a ^ 1; (a); ((a + b)); (a + b) * 2; a + b + 1; concat_ws('-', s, s); lpad(s, 3, '0'); instr(s, 'x')
startswith(s, 'a'); contains(s, 'a'); make_date(2024, 1, 1); split_part(s, '-', 1); weekofyear(d); quarter(d)
dayofweek(d); last_day(d); add_months(d, 1); months_between(ts, ts); s = 'x'; x > 1.0; -1; a * -1; b > 2147483648
nvl2(a, 1, 2); bround(x, 1); rint(x); initcap(s); repeat(s, 2); ascii(s); sha2(s, 256); sha1(s); translate(s, 'a', 'b')
ucase(s); lcase(s); lower(s); s RLIKE 'a'; s REGEXP 'a.b'; s NOT RLIKE 'a'; s ILIKE 'a%'; st.f + 1; v.st.f + v.a
(st).f; named_struct('q', a).q; coalesce(st, st).f; r[0]; v.r[a] + 1; split(s, '-')[0]; upper(v.st.g.h); st.g.h
array(st)[0].g.h; map('k', st)['k'].f; CAST(st.f AS STRING); st.f IS NULL
"""
AGGREGATES = """
count(*); count(1); count(a); count(DISTINCT a); sum(a); sum(v.a); SUM(a + b); min(a); max(v.b); avg(a); mean(a)
median(a); count_if(a > 1); bool_and(ok); every(ok); bool_or(ok); any(ok); some(ok); count(*) FILTER (WHERE a > 1)
sum(a) FILTER (WHERE ok AND a > 1); sum(a) + 1; 100 * count(*) / sum(b); sum(a) / count(*); round(avg(x), 2)
max(st.f); max_by(st, ts).f; (max_by(v.st, ts)).g.h; sum(r[0])
coalesce(sum(a), 0); max(ts) - min(ts); sum(CASE WHEN a > 1 THEN 1 ELSE 0 END); sum(a)::DOUBLE; count(a) > 1
"""
UNKNOWN = """
ts + INTERVAL 5 MINUTES; d + 1; 1e3; 'it''s'; log(x); extract(HOUR FROM ts); rlike(s, 'a')
regexp_like(s, 'a')"""
STREAM = """CREATE STREAM v (a INT, b BIGINT, s STRING, ok BOOLEAN, x DOUBLE, p DECIMAL(9,2), ts TIMESTAMP, d DATE,
  r ARRAY<INT>, st STRUCT<f: INT, g: STRUCT<h: STRING>>, EVENT TIME ts, ORDERED BY ts);"""


def listed(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";") if one.strip()]


def test_an_expression_is_named_as_spark_names_it(spark: SparkSession) -> None:
    spark.sql(
        "SELECT 1 AS a, 2L AS b, 'x' AS s, true AS ok, 1.5D AS x, CAST(2.25 AS DECIMAL(9,2)) AS p, "
        "TIMESTAMP '2024-01-01 00:00:00' AS ts, DATE '2024-01-02' AS d, array(1, 2) AS r, "
        "named_struct('f', 1, 'g', named_struct('h', 'x')) AS st"
    ).createOrReplaceTempView("v")
    found: dict[str, str] = {}
    wanted: dict[str, str] = {}
    for expression in [*listed(SCALARS), *listed(AGGREGATES)]:
        wanted[expression] = spark.sql(f"SELECT {expression} FROM v").columns[0]
        try:
            (query,) = penstock.parse(f"{STREAM} SELECT {expression} FROM v;").queries
            found[expression] = query.answer[0].name
        except penstock.PenstockError as error:
            found[expression] = str(error)
    assert {e: n for e, n in found.items() if n != wanted[e]} == {}


@pytest.mark.parametrize("expression", listed(UNKNOWN))
def test_where_its_name_is_not_known_one_is_asked_for(expression: str) -> None:
    with pytest.raises(penstock.PenstockError, match="needs a name"):
        penstock.parse(f"{STREAM} SELECT {expression} FROM v;")


def test_a_window_is_named_as_spark_names_it(spark: SparkSession) -> None:
    spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS ts").createOrReplaceTempView("v")
    by = "FROM v GROUP BY window(ts, '5 minutes')"
    for item in ("window(ts, '5 minutes')", "window(ts, '5 minutes').start", "window.end", "window"):
        (query,) = penstock.parse(f"{STREAM} SELECT {item} {by};").queries
        assert [query.answer[0].name] == spark.sql(f"SELECT {item} {by}").columns, item
