"""EXISTS and IN over joins whose columns are made of several streams: by USING, by an expression of a query in FROM.

What ties the joins to the rows around them is then no column of a stream. The oracle is DuckDB over all rows at once.
"""

from __future__ import annotations

import random

import pytest

import penstock
from penstock.errors import ScriptErrors
from tests.measure import each, seeds
from tests.whole_queries.grammar import DECLARED, Drawn
from tests.whole_queries.test_whole_queries import batches, by_duckdb, by_penstock

_NEAR = "ON b.k = c.k AND c.ts - b.ts BETWEEN -1 AND 2"
_CLOSE = "q.ts - a.ts BETWEEN 0 AND 3"
_QUERIES = {
    "sum": f"EXISTS (SELECT 1 FROM (SELECT b.v + c.v AS s, b.ts FROM b JOIN c {_NEAR}) q WHERE q.s = a.v AND {_CLOSE})",
    "range": "EXISTS (SELECT 1 FROM (SELECT b.v + c.v AS s, b.v, b.ts FROM b JOIN c "
    f"{_NEAR}) q WHERE q.v > 0 AND q.s BETWEEN a.v AND a.v + 2 AND {_CLOSE} AND q.s > 1)",
    "either": "NOT EXISTS (SELECT 1 FROM (SELECT coalesce(b.k, c.k) AS k, coalesce(b.ts, c.ts) AS ts FROM b FULL JOIN "
    f"c {_NEAR}) q WHERE q.k = a.k AND {_CLOSE})",
    "using": "EXISTS (SELECT 1 FROM b JOIN c USING (k, ts) WHERE k = a.k AND ts = a.ts)",
    "full using": "NOT EXISTS (SELECT 1 FROM b FULL JOIN c USING (k, ts) WHERE k = a.k AND ts = a.ts AND b.v < 2)",
    "in using": "a.k IN (SELECT k FROM b FULL JOIN c USING (k, ts) WHERE ts = a.ts)",
    "not in using": "a.v NOT IN (SELECT k FROM b RIGHT JOIN c USING (k, ts) WHERE ts = a.ts)",
}


@pytest.mark.parametrize("name", _QUERIES)
def test_what_joins_make_ties_them_to_the_rows_around(name: str) -> None:
    for seed in each(seeds(9000, 4, 300)):
        draw = random.Random(seed)
        drawn, given = Drawn((), f"SELECT a.id, a.k, a.v FROM a WHERE {_QUERIES[name]}"), batches(draw)
        assert by_penstock(drawn, given, draw) == by_duckdb(drawn, given), f"seed {seed}"


def test_a_window_that_joins_give_ties_them_by_its_ends_alone() -> None:
    streams = DECLARED.replace("ts BIGINT", "ts TIMESTAMP").replace("WITHIN 2", "WITHIN 2 SECONDS")
    window = "window({}.ts, '3 seconds') AS w"
    inner = f"SELECT b.k, {window.format('b')} FROM b JOIN c ON b.k = c.k AND b.ts = c.ts"
    around = f"SELECT p.id FROM (SELECT id, k, {window.format('a')} FROM a) AS p"
    asked = f"{streams}{around} WHERE EXISTS (SELECT 1 FROM ({inner}) AS q WHERE q.k = p.k AND q.w"
    assert penstock.check(penstock.parse(f"{asked} = p.w)")).verdict == "bounded"
    with pytest.raises(ScriptErrors, match="as a whole"):
        penstock.parse(f"{asked} <=> p.w)")
