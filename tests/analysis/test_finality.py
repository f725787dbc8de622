"""When a row that may have no match is given: once the other side is closed for it, at its first match, or never."""

from __future__ import annotations

import pytest

from penstock.analysis.finality import finality
from penstock.explain.reason_words import each_told
from penstock.model.simplify import simplified
from tests.analysis.scripts import CLOCK, graph_of

BAND = "a.k = b.k AND b.n <= a.n + 2"


@pytest.mark.parametrize(
    ("select", "sentences"),
    [
        (
            f"SELECT a.k FROM a LEFT JOIN b ON {BAND}",
            ["a row of a without a match in b is emitted with NULLs once b.n has passed a.n + 2"],
        ),
        (
            f"SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {BAND})",
            ["a row of a without a match in b is emitted once b.n has passed a.n + 2"],
        ),
        (
            f"SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {BAND})",
            ["a row of a is emitted at its first match in b"],
        ),
        (f"SELECT a.k FROM a JOIN b ON {BAND}", []),
        (f"SELECT a.k FROM a LEFT JOIN b ON {BAND} WHERE b.k > 0", []),
    ],
)
def test_each_outer_join_and_exists_says_when(select: str, sentences: list[str]) -> None:
    graph = graph_of(f"a ({CLOCK})", f"b ({CLOCK})", select=select)
    assert list(each_told(finality(simplified(graph.query), graph))) == sentences


def test_what_is_never_certain_names_what_would_tell() -> None:
    graph = graph_of("a (k BIGINT)", "b (k BIGINT)", select="SELECT a.k FROM a LEFT JOIN b ON a.k = b.k")
    assert each_told(finality(graph.query, graph)) == (
        "a row of a without a match in b is never certain to have none, so it could never be emitted; "
        "FOLLOWS b (k) ON (k) WITHIN AUTO ON a would tell",
    )
