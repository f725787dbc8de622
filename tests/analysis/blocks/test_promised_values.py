"""What is known of values without a verdict is what is known with one, less the clocks."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.blocks.promised_values import promised_values
from penstock.model.schemes import Ordered

_STREAMS = """
CREATE STREAM s (x BIGINT, y BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (x > 0),
  COOCCURS (x) AND t (x) WINDOW [0, 5]);
CREATE STREAM t (x BIGINT, y BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (x > 0));
"""


@pytest.mark.parametrize(
    "views",
    [
        "CREATE VIEW v (EVENT TIME ts) AS SELECT x, y, ts FROM s WHERE y > 3",
        "CREATE VIEW v (EVENT TIME ts) AS SELECT DISTINCT x, y, ts FROM s",
        "CREATE VIEW u AS SELECT x, max(y) AS y, window(ts, 3).end AS e FROM s GROUP BY x, window(ts, 3);"
        "CREATE VIEW v (EVENT TIME e) AS SELECT x, y, e FROM u WHERE y < 3",
        "CREATE VIEW v (EVENT TIME ts) AS SELECT x, ts FROM s WHERE y > 3 UNION ALL SELECT x, ts FROM t WHERE y > 3",
        "CREATE VIEW v (EVENT TIME u) AS SELECT s.x, t.ts AS u FROM s JOIN t ON s.x = t.x AND t.ts - s.ts <= 3",
    ],
)
def test_values_are_known_before_anything_is_decided(views: str) -> None:
    script = penstock.parse(f"{_STREAMS} {views}; SELECT x FROM v")
    (source,) = script.queries[0].sources
    verdict = penstock.check(script)
    derived = {
        **{block.name: block.derived.stream for block in verdict.blocks},
        **{union.name: union.derived.stream for union in verdict.unions},
    }["v"]
    assert source.below is not None
    known = promised_values(source.stream, source.below)
    assert [s for s in known.schemes if not isinstance(s, Ordered)] == [
        s for s in derived.schemes if not isinstance(s, Ordered)
    ]
    assert known.where == derived.where
