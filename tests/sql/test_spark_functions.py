"""Functions that Spark does not have are found without it, where the session's own are known."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.errors import ScriptErrors

STREAM = "CREATE STREAM s (k BIGINT, t STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);\n"


@pytest.mark.parametrize(
    ("query", "wrong", "hint"),
    [
        ("SELECT lenght(t) AS n FROM s", "lenght", "did you mean length?"),
        ("SELECT k FROM s WHERE strpos(t, 'x') > 0", "strpos", "--function strpos"),
        ("SELECT count(lenght(t)) AS n FROM s GROUP BY window(ts, '1 hour')", "lenght", "did you mean length?"),
        ("SELECT count(*) AS n FROM s GROUP BY window(ts, '1 hour') HAVING sqqrt(count(*)) > 1", "sqqrt", "mean sqrt?"),
        ("SELECT a.k FROM s AS a JOIN s AS b ON mine(a.k) = b.k AND a.ts = b.ts", "mine", "did you mean"),
        ("SELECT count(*) AS n FROM s GROUP BY tumble(ts, '1 hour')", "tumble", "Spark has window(ts, '5 minutes')"),
        ("SELECT k FROM s WHERE `my own`(k) = 1", "my own", "--function my own"),
    ],
)
def test_a_function_that_is_neither_sparks_nor_the_sessions(query: str, wrong: str, hint: str) -> None:
    with pytest.raises(ScriptErrors) as raised:
        parse(f"{STREAM}{query};", own_functions=["another"])
    (mistake,) = raised.value.mistakes
    assert mistake.message == f"Spark has no function {wrong}"
    assert mistake.hint is not None
    assert hint in mistake.hint
    assert mistake.place.column == query.replace("`", "").index(wrong) + 1
    parse(f"{STREAM}{query};", own_functions=[wrong.upper()])
    # From Python the session may have whatever was registered in it.
    parse(f"{STREAM}{query};")


EXPRESSIONS = """
cast(t AS INT); try_cast(t AS INT); extract(HOUR FROM ts); position('a' IN t); overlay(t PLACING 'x' FROM 1);
trim(BOTH 'x' FROM t); struct(k, t); named_struct('a', 1); if(k > 1, 1, 2); int(t); date(ts); string(k);
substring(t FROM 1 FOR 2); current_timestamp(); current_date; transform(array(1), x -> x + 1); ceil(k); t RLIKE 'x';
timestampadd(HOUR, 1, ts); dateadd(DAY, 1, ts); nvl(k, 1); map('a', 1)['a']; CASE WHEN (k > 1) THEN (1) END;
k IN (1, 2); NOT (k = 1); coalesce(k, 0) BETWEEN (1) AND (2); t LIKE ('a'); catalog.db.mine(k); k % (2);
isnotnull(k); date_diff(ts, ts); bigint(k); INTERVAL (k) HOURS; decimal(k); make_dt_interval(1); char(65)
"""


@pytest.mark.parametrize("expression", [text.strip() for text in EXPRESSIONS.split(";")])
def test_what_spark_has_is_known(expression: str) -> None:
    parse(f"{STREAM}SELECT {expression} AS x FROM s;", own_functions=[])
