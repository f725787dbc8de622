"""NOT IN over what may be NULL: a row stays iff its value differs, for certain, from every member.

The oracle is DuckDB over all rows at once; the core runs the queries in random batches, on streams whose columns are
NULL now and then.
"""

from __future__ import annotations

import random

import pytest

from penstock.analysis.check import check_query
from penstock.testing import Run
from tests.measure import each, seeds
from tests.whole_queries.grammar import Drawn
from tests.whole_queries.test_whole_queries import batches, by_duckdb, by_penstock

_COLUMNS = ("k", "v")


def of_one(draw: random.Random) -> str:
    """Members that are rows of a stream, near in time."""
    inner = f"SELECT {_member(draw)} FROM b WHERE {_near(draw)}{_own(draw)}"
    return f"SELECT a.id, a.k, a.v FROM a WHERE {_value(draw)} NOT IN ({inner})"


def of_joins(draw: random.Random) -> str:
    """Members that are rows of a join, and a value beside other conditions."""
    joined = "b JOIN c ON b.id = c.id AND c.ts - b.ts BETWEEN -1 AND 1"
    inner = f"SELECT {_member(draw)} FROM {joined} WHERE {_near(draw)}"
    return f"SELECT a.id, a.v FROM a WHERE a.id > 0 AND {_value(draw)} NOT IN ({inner})"


def of_joined_rows(draw: random.Random) -> str:
    """A value of one of two streams that meet."""
    inner = f"SELECT {_member(draw)} FROM b WHERE {_near(draw)}{_own(draw)}"
    both = "a JOIN c ON a.id = c.id AND c.ts - a.ts BETWEEN 0 AND 2"
    return f"SELECT a.id, c.v FROM {both} WHERE {draw.choice('ac')}.{draw.choice(_COLUMNS)} NOT IN ({inner})"


def of_expressions(draw: random.Random) -> str:
    """Expressions of which none can be NULL, by what they are or by WHERE."""
    if draw.random() < 0.5:
        inner = f"SELECT coalesce({_member(draw)}, b.v, 3) FROM b WHERE {_near(draw)}{_own(draw)}"
        return f"SELECT a.id, a.k FROM a WHERE coalesce({_value(draw)}, a.k, {draw.randint(0, 2)}) NOT IN ({inner})"
    value, member = f"{_value(draw)} + 1", _member(draw)
    inner = f"SELECT {member} FROM b WHERE {_near(draw)} AND {member} IS NOT NULL"
    return f"SELECT a.id, a.v FROM a WHERE {value} IS NOT NULL AND {value} NOT IN ({inner})"


def of_pairs(draw: random.Random) -> str:
    """Pairs and triples, columns or not, tied by a band or by a pair that is never NULL."""
    values = [_made(draw, _value(draw)) for _ in range(draw.choice((2, 2, 2, 3)))]
    members = [_made(draw, _member(draw)) for _ in values]
    where = f"{_near(draw)}{_own(draw)}"
    if draw.random() < 0.3:
        values, members, where = ["a.ts", *values[:2]], ["b.ts", *members[:2]], "b.id > 0"
    source = "a"
    if draw.random() < 0.3:
        source, values = (
            "a JOIN c ON a.id = c.id AND c.ts - a.ts BETWEEN 0 AND 2",
            [*values[:-1], f"c.{draw.choice('kv')}"],
        )
    return f"SELECT a.id, a.k FROM {source} WHERE {_several(values, 'NOT ', members, where)}"


def of_values(draw: random.Random) -> str:
    """IN and NOT IN as values, which are NULL where nobody knows."""
    one, other = _asked(draw, "b"), _pair_asked(draw)
    return draw.choice(
        (
            f"SELECT a.id, a.k, a.v, {one} AS answer FROM a",
            f"SELECT a.id, a.k, {other} AS answer FROM a WHERE a.id > 1",
            f"SELECT a.id, CASE WHEN {one} THEN 1 WHEN NOT {other} THEN 2 ELSE 3 END AS answer FROM a",
            f"SELECT a.id, a.k, a.v FROM a WHERE ({one}) IS NULL",
            f"SELECT a.id, a.k, a.v FROM a WHERE coalesce({other}, a.v > 1)",
        )
    )


def _pair_asked(draw: random.Random) -> str:
    values, members = [_value(draw), _made(draw, _value(draw))], [_member(draw), _made(draw, _member(draw))]
    return _several(values, draw.choice(("", "NOT ")), members, f"{_near(draw)}{_own(draw)}")


def _several(values: list[str], negated: str, members: list[str], where: str) -> str:
    """IN of several columns, which DuckDB takes in other words: by what all members together say."""
    asked = f"({', '.join(values)}) {negated}IN (SELECT {', '.join(members)} FROM b WHERE {where})"
    equal = " AND ".join(f"{value} = {member}" for value, member in zip(values, members, strict=True))
    said = f"CASE WHEN bool_or({equal}) THEN TRUE WHEN bool_or(({equal}) IS NULL) THEN NULL ELSE FALSE END"
    return f"⟦{asked}‖({negated}(SELECT {said} FROM b WHERE {where}))⟧"


def _made(draw: random.Random, column: str) -> str:
    """A column, or an expression of it that is NULL where it is, or is not."""
    return draw.choice((column, column, f"{column} + 1", f"coalesce({column}, 1)", f"nullif({column}, 2)"))


def of_either(draw: random.Random) -> str:
    """IN and NOT IN under OR and NOT, where what is unknown must stay apart from what is false."""
    one, other = (_asked(draw, name) for name in "bc")
    plain = draw.choice(("a.v > 1", "a.k IS NULL", "a.id < 3"))
    where = draw.choice(
        (
            f"{one} OR {other}",
            f"NOT ({plain} AND {one})",
            f"NOT ({one} OR {plain})",
            f"NOT ({one} AND {other})",
            f"{plain} AND {one} OR NOT ({plain} OR {other})",
        )
    )
    return f"SELECT a.id, a.k, a.v FROM a WHERE {where}"


def _asked(draw: random.Random, name: str) -> str:
    joined = "b JOIN c ON b.id = c.id AND c.ts - b.ts BETWEEN -1 AND 1"
    inner = f"{joined if draw.random() < 0.2 else name} WHERE {_near(draw)}{_own(draw)}"
    inner = inner if "JOIN" in inner else inner.replace("b.", f"{name}.")
    member = _member(draw).replace("b.", f"{name}.")
    return f"{_value(draw)} {draw.choice(('', 'NOT '))}IN (SELECT {member} FROM {inner})"


def _value(draw: random.Random) -> str:
    return f"a.{draw.choice(_COLUMNS)}"


def _member(draw: random.Random) -> str:
    return f"b.{draw.choice(_COLUMNS)}"


def _near(draw: random.Random) -> str:
    low = draw.randint(-3, 1)
    return f"b.ts - a.ts BETWEEN {low} AND {low + draw.randint(0, 4)}"


def _own(draw: random.Random) -> str:
    return draw.choice(("", "", " AND b.id > 1", " AND b.k = a.k", " AND b.v IS NOT NULL"))


@pytest.mark.parametrize("form", [of_one, of_joins, of_joined_rows, of_expressions, of_pairs, of_values, of_either])
def test_a_null_among_the_members_or_beside_any_keeps_a_row_out(form: object) -> None:
    assert callable(form)
    bounded, kept, drawn_seeds = 0, 0, list(each(seeds(7000, 12, 1500)))
    for seed in drawn_seeds:
        draw = random.Random(seed)
        drawn = Drawn((), form(draw))
        given = batches(draw)
        found = by_penstock(drawn, given, draw)
        assert found == by_duckdb(drawn, given), f"seed {seed}\n{drawn.for_penstock}"
        bounded += check_query(Run(drawn.for_penstock).query).verdict == "bounded"
        kept += bool(found)
    assert bounded == len(drawn_seeds)
    assert kept > len(drawn_seeds) // 4
