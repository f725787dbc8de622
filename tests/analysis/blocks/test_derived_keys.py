"""Which columns of a view name a row of it."""

from __future__ import annotations

import pytest

from tests.analysis.blocks.promised import NEAR, A, B, conditions, promises

KEYED = A.replace("3)", "3, PRIMARY KEY (k))") + B.replace("3)", "3, PRIMARY KEY (k, n))")


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (f"SELECT a.k, a.n FROM a, b WHERE {NEAR}", []),
        (f"SELECT a.k AS x, b.n AS y, a.n AS z FROM a, b WHERE {NEAR}", ["PRIMARY KEY (x, y)"]),
        (f"SELECT b.k AS x, b.n AS y FROM a, b WHERE {NEAR}", ["PRIMARY KEY (x, y)"]),
        ("SELECT a.k, a.n FROM a WHERE a.n > 3", ["PRIMARY KEY (k)"]),
        (f"SELECT a.k AS x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {NEAR})", ["PRIMARY KEY (x)"]),
        (f"SELECT a.k AS x, b.n AS y FROM a LEFT JOIN b ON {NEAR}", []),
        (f"SELECT DISTINCT b.n AS y FROM a, b WHERE {NEAR}", ["PRIMARY KEY (y)"]),
        ("SELECT DISTINCT a.n AS y FROM a", []),
        (
            "SELECT a.k, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.k, window(a.t, 5)",
            ["PRIMARY KEY (k, e)"],
        ),
        ("SELECT a.n, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.n, window(a.t, 5)", []),
        ("SELECT window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.k, window(a.t, 5)", []),
    ],
)
def test_keys(view: str, expected: list[str]) -> None:
    assert [text for text in promises(view, KEYED) if text.startswith("PRIMARY")] == expected


def test_a_column_that_may_be_null_is_in_no_key() -> None:
    groups = "SELECT a.k, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.k, window(a.t, 5)"
    assert not any(text.startswith("PRIMARY") for text in promises(groups))


def test_groups_of_several_sets_have_no_key_and_their_columns_may_be_null() -> None:
    streams = (
        "CREATE STREAM a (k BIGINT, t BIGINT, EVENT TIME t, ORDERED BY t, CHECK (k IS NOT NULL AND t IS NOT NULL));"
    )
    view = "SELECT window(a.t, 5).end AS e, a.k, count(*) AS n FROM a GROUP BY window(a.t, 5), {}"
    assert "PRIMARY KEY (e, k)" in promises(view.format("a.k"), streams)
    assert promises(view.format("ROLLUP (a.k)"), streams) == ["ORDERED BY e WITHIN FRONTIER"]
    assert conditions(view.format("ROLLUP (a.k)"), streams) == ["e IS NOT NULL"]
