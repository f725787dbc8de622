"""EXISTS and IN in the ON of joins: about either side, as a condition or within one.

The oracle is DuckDB over all rows at once, which is asked for a column of the side where an outer join asks in ON.
"""

from __future__ import annotations

import random

from penstock.analysis.check import check_query
from penstock.testing import Run
from tests.measure import each, seeds
from tests.whole_queries.grammar import Drawn
from tests.whole_queries.test_whole_queries import batches, by_duckdb, by_penstock

_KINDS = ("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")


def drawn_of(draw: random.Random) -> Drawn:
    """A join of two sides, which asks in ON."""
    kind = draw.choice(_KINDS)
    questions = {alias: _question(draw, alias) for alias in "ab"}
    sides = {
        alias: f"⟦{alias}‖(SELECT *, {question} AS met FROM {alias}) AS {alias}⟧"
        for alias, question in questions.items()
    }
    asked = {alias: f"⟦{question}‖{alias}.met⟧" for alias, question in questions.items()}
    one, other = (asked[alias] for alias in draw.choice(("ab", "ba")))
    condition = draw.choice(
        (
            one,
            f"NOT {one}",
            f"{one} AND {other}",
            f"({one} OR {draw.choice(('a.v > 1', 'b.v > 1', 'a.id <> b.id'))})",
            f"({one} OR NOT {other})",
            f"CASE WHEN a.v > 1 THEN {one} ELSE b.v > 0 END",
        )
    )
    tie = f"a.{draw.choice(('k', 'id'))} = b.k AND b.ts - a.ts BETWEEN -1 AND {draw.randint(0, 3)}"
    given = "a.id, a.v" if kind in _KINDS[-2:] else "a.id, a.v, b.id AS other"
    source = f"{sides['a']} {kind} {sides['b']} ON {tie} AND {condition}"
    where = draw.choice(("", "", " WHERE a.id > 1"))
    if draw.random() < 0.2 and where == "" and kind not in _KINDS[-2:]:
        given, source = "c.id, a.id AS a_id", f"c LEFT JOIN ({source}) ON c.k = a.k AND c.ts - a.ts BETWEEN -1 AND 2"
    return Drawn((), f"SELECT {given} FROM {source}{where}")


def _question(draw: random.Random, alias: str) -> str:
    low = draw.randint(-2, 1)
    near = f"c.ts - {alias}.ts BETWEEN {low} AND {low + draw.randint(0, 3)}"
    if draw.random() < 0.6:
        return f"{draw.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM c WHERE c.k = {alias}.k AND {near})"
    inside = f"SELECT c.{draw.choice('kv')} FROM c WHERE {near}"
    return f"{alias}.{draw.choice('kv')} {draw.choice(('', 'NOT '))}IN ({inside})"


def test_what_joins_ask_in_on_is_what_duckdb_gives() -> None:
    bounded, drawn_seeds = 0, list(each(seeds(8000, 40, 3000)))
    for seed in drawn_seeds:
        draw = random.Random(seed)
        drawn = drawn_of(draw)
        given = batches(draw)
        found = by_penstock(drawn, given, draw)
        assert found == by_duckdb(drawn, given), f"seed {seed}\n{drawn.for_penstock}"
        bounded += check_query(Run(drawn.for_penstock).query).verdict == "bounded"
    assert bounded == len(drawn_seeds)
