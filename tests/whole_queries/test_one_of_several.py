"""Joins and groups above what is one of several times: `coalesce` over FULL JOINs, USING above USING, `greatest`.

Such a column has the least of the clocks of those that it is one of, so what is above may close too early or never. The
oracle is DuckDB over all rows at once; queries are drawn from a few forms, run on the core in random batches.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from penstock.analysis.check import check_query
from penstock.testing import Run
from tests.measure import each, seeds
from tests.whole_queries.grammar import Drawn
from tests.whole_queries.test_whole_queries import SCHEMA, batches, by_duckdb, by_penstock

_OUTER = ("FULL", "FULL", "LEFT", "RIGHT", "INNER")


def grouped(draw: random.Random) -> str:
    """Groups by a window of one of two times, or by the time itself."""
    rows = f"SELECT {_time(draw)} AS t, a.v, b.k FROM a {draw.choice(_OUTER)} JOIN b ON {_near(draw, 'a.ts', 'b.ts')}"
    length = draw.choice((1, 3, 4))
    if draw.random() < 0.3:
        groups = f"SELECT t, count(*) AS n, sum(v) AS s FROM ({rows}) q WHERE t IS NOT NULL GROUP BY t"
        return f"SELECT [[t|{length}|end]] AS w, max(n) AS n, sum(s) AS s FROM ({groups}) g GROUP BY [[t|{length}|]]"
    if draw.random() < 0.2:
        return f"SELECT DISTINCT t, k FROM ({rows}) q WHERE t IS NOT NULL"
    key = f"[[t|{length}|end]]"
    shown = f"{key} AS w, count(*) AS n, sum(v) AS s, max(t) AS most"
    return f"SELECT {shown} FROM ({rows}) q WHERE t IS NOT NULL GROUP BY [[t|{length}|]]"


def direct(draw: random.Random) -> str:
    """Groups by a window of one of two times as it is worked out, beside conditions and keys of both sides."""
    time, length = _time(draw), draw.choice((1, 3, 4))
    window = f"⟦window({time}, {length}).end‖({time} - {time} % {length} + {length})⟧"
    more = draw.choice(("", ", a.k", ", coalesce(a.k, b.k)"))
    tested = draw.choice(("", " AND (a.v > 0 OR b.v > 0)", " AND b.v IS NOT NULL"))
    where = f"WHERE {time} IS NOT NULL{tested}"
    rows = f"FROM a {draw.choice(_OUTER)} JOIN b ON {_near(draw, 'a.ts', 'b.ts')} {where}"
    shown = f"{window} AS w{more and more + ' AS g'}, count(*) AS n, sum(a.v) AS s, max(b.v) AS m"
    having = draw.choice(("", " HAVING count(*) > 1"))
    return f"SELECT {shown} {rows} GROUP BY ⟦window({time}, {length})‖1⟧{more}{having}"


def joined(draw: random.Random) -> str:
    """A third stream near to one of two times."""
    own = "coalesce(a.id, b.id) AS id, a.v AS x, b.v AS y"
    rows = f"SELECT coalesce(a.ts, b.ts) AS t, {own} FROM a FULL JOIN b ON {_near(draw, 'a.ts', 'b.ts')}"
    on = f"c.id = q.id AND {_between(draw, 'q.t', 'c.ts')}"
    return f"SELECT q.t, q.id, q.x, q.y, c.v AS z FROM ({rows}) q {draw.choice(_OUTER)} JOIN c ON {on}"


def using(draw: random.Random) -> str:
    """Three streams by USING, of which the second compares what the first made one column."""
    names = draw.choice(("id, ts", "ts, k", "ts"))
    first, second = draw.choice(("FULL", "FULL", "LEFT")), draw.choice(_OUTER)
    three = f"a {first} JOIN b USING ({names}) {second} JOIN c USING ({names})"
    if draw.random() < 0.4:
        rows = f"SELECT ts, a.v AS x, c.v AS z FROM {three}"
        return f"SELECT [[ts|3|start]] AS w, count(x) AS n, sum(z) AS s FROM ({rows}) q GROUP BY [[ts|3|]]"
    return f"SELECT {names}, a.v AS x, b.v AS y, c.v AS z FROM {three}"


def _time(draw: random.Random) -> str:
    return draw.choice(("coalesce(a.ts, b.ts)", "coalesce(b.ts, a.ts)", "greatest(a.ts, b.ts)", "least(a.ts, b.ts)"))


def _near(draw: random.Random, one: str, other: str) -> str:
    return f"a.id = b.id AND {_between(draw, one, other)}"


def _between(draw: random.Random, one: str, other: str) -> str:
    low = draw.randint(-3, 1)
    return f"{other} - {one} BETWEEN {low} AND {low + draw.randint(0, 4)}"


@pytest.mark.parametrize("form", [grouped, direct, joined, using])
def test_what_is_one_of_several_times_has_the_least_of_their_clocks(form: object) -> None:
    assert callable(form)
    bounded, drawn_seeds = 0, list(each(seeds(4000, 12, 1500)))
    for seed in drawn_seeds:
        draw = random.Random(seed)
        drawn = Drawn((), form(draw))
        given = batches(draw)
        assert by_penstock(drawn, given, draw) == by_duckdb(drawn, given), f"seed {seed}\n{drawn.for_penstock}"
        bounded += check_query(Run(drawn.for_penstock).query).verdict == "bounded"
    assert bounded > len(drawn_seeds) * 0.9


@dataclass(frozen=True)
class Declared(Drawn):
    """A query over streams that declare more."""

    streams: str = ""

    @property
    def for_penstock(self) -> str:
        """As a script of these streams and the query."""
        return f"{self.streams}\n{self.query};"


def test_full_joins_by_a_key_alone_are_closed_by_what_each_stream_says_of_the_others() -> None:
    for seed in each(seeds(6000, 40, 3000)):
        draw = random.Random(seed)
        streams = "\n".join(_declared(stream, others, draw) for stream, others in (("a", "bc"), ("b", "c"), ("c", "")))
        names = [*draw.sample("ab", 2), "c"]
        kinds = draw.choice(("FULL", "FULL", "LEFT")), draw.choice(_OUTER)
        joins = f"{names[0]} {kinds[0]} JOIN {names[1]} USING (id) {kinds[1]} JOIN c USING (id)"
        shown = "id, a.v AS x, b.v AS y, c.v AS z, a.ts AS r, b.ts AS s, c.ts AS t"
        drawn = Declared((), f"SELECT {shown} FROM {joins}", streams)
        given = [{stream: _near_in_time(table) for stream, table in batch.items()} for batch in batches(draw)]
        assert by_penstock(drawn, given, draw) == by_duckdb(drawn, given), f"seed {seed}\n{drawn.for_penstock}"
        assert check_query(Run(drawn.for_penstock).query).verdict == "bounded", drawn.for_penstock


def _declared(stream: str, others: str, draw: random.Random) -> str:
    said = [
        f", COOCCURS (id) AND {other} (id) WINDOW [{draw.randint(-5, -3)}, {draw.randint(3, 5)}]" for other in others
    ]
    columns = "id BIGINT, k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (ts IS NOT NULL)"
    return f"CREATE STREAM {stream} ({columns}{''.join(said)});"


def _near_in_time(table: Any) -> Any:
    """Rows of which those that agree on id lie in the same four units of time."""
    rows = [{**row, "id": row["id"] + 6 * (row["ts"] // 4)} for row in table.to_pylist()]
    return pa.Table.from_pylist(rows, schema=SCHEMA)
