"""What holds of a union: what all of its members promise, and no more; random histories are in tests/whole_queries."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.analysis.finding import UnionFinding
from penstock.compile import parse

STREAMS = """
CREATE STREAM a (id BIGINT, k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (id),
  CHECK (k > 0));
CREATE STREAM b (id BIGINT, k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 9 SECONDS, PRIMARY KEY (id),
  CHECK (k > 0));
CREATE STREAM c (id BIGINT, k BIGINT, ts TIMESTAMP, EVENT TIME ts);
"""


def union_of(text: str) -> UnionFinding:
    (query,) = parse(STREAMS + text).queries
    (found,) = check_query(query).unions
    return found


def test_the_clock_and_what_is_said_of_values_hold_if_all_say_it() -> None:
    found = union_of("SELECT id, k, ts FROM a UNION ALL SELECT id, k, ts FROM b WHERE k < 9;")
    assert [scheme.text for scheme in found.derived.stream.schemes] == [
        "ORDERED BY ts WITHIN FRONTIER",
        "CHECK (k > 0)",
    ]
    assert found.derived.stream.event_time == "ts"
    assert found.derived.stream.where == ()
    assert found.derived.unclaimed == ()


def test_a_member_without_a_clock_leaves_the_union_without_one() -> None:
    found = union_of("SELECT id, k, ts FROM a UNION ALL SELECT id, k, ts FROM c;")
    assert found.derived.stream.schemes == ()
    (unclaimed,) = found.derived.unclaimed
    assert unclaimed.column == "ts"


def test_keys_of_members_are_no_key_of_the_union() -> None:
    found = union_of("SELECT id, ts FROM a UNION ALL SELECT id, ts FROM b;")
    assert found.derived.stream.keys == ()
