"""A query declares more in every place where a stream is read, blocks and views included."""

from __future__ import annotations

import penstock
from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.analysis.finding import Fix
from penstock.model.schemes import NamedTime, Ordered, PrimaryKey
from penstock.model.spans import Auto

_TEXT = """
CREATE STREAM a (k BIGINT, ts TIMESTAMP);
CREATE STREAM b (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 0 SECONDS);
CREATE VIEW v AS SELECT DISTINCT a.k, a.ts FROM a JOIN b
  ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR;
SELECT x.k FROM v AS x, v AS y WHERE x.k = y.k AND x.ts = y.ts;
"""


def test_a_stream_of_a_block_that_two_read_declares_it_once_and_bounds_it() -> None:
    (query,) = penstock.parse(_TEXT).queries
    assert check_query(query).verdict != "bounded"
    changed = declaring(query, Fix((("a", NamedTime("ts")), ("a", Ordered("ts", Auto())))))
    assert check_query(changed).verdict == "bounded"
    assert changed.sources[0].below == changed.sources[1].below


def test_a_view_declares_it_as_the_stream_of_its_block() -> None:
    (query,) = penstock.parse(_TEXT).queries
    changed = declaring(query, Fix((("v", PrimaryKey(("k", "ts"))),)))
    assert all(PrimaryKey(("k", "ts")) in source.stream.schemes for source in changed.sources)
