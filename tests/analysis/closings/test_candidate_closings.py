"""What one or two more declarations would close: the weakest of each kind, and none that is there already."""

from __future__ import annotations

from penstock.analysis.closings.candidate_closings import candidate_closings
from penstock.analysis.finding import Fix
from tests.analysis.scripts import CLOCK, facts_of


def missing(target: str, *streams: str, select: str) -> list[str]:
    facts = facts_of(*streams, select=select)
    return [str(Fix(c.missing)) for c in candidate_closings(facts, facts.query.by_alias[target])]


JOINED = "SELECT a.k FROM a, b WHERE a.k = b.k"


def test_streams_that_share_a_column_may_follow_or_be_ordered() -> None:
    found = missing("b", "a (k BIGINT)", "b (k BIGINT)", select=JOINED)
    assert found == ["ORDERED BY k WITHIN AUTO ON b", "FOLLOWS b (k) ON (k) WITHIN AUTO ON a"]


def test_a_key_lacks_the_guarantee_alone() -> None:
    found = missing("b", "a (k BIGINT)", "b (k BIGINT, PRIMARY KEY (k))", select=JOINED)
    assert "FOREIGN KEY (k) REFERENCES b (k) ON a" in found


def test_a_guarantee_lacks_the_key_alone() -> None:
    stream = "a (k BIGINT, PRIMARY KEY (k), FOREIGN KEY (k) REFERENCES b (k))"
    found = missing("b", stream, "b (k BIGINT, v BIGINT)", select=JOINED)
    assert "PRIMARY KEY (k) ON b" in found


def test_what_is_ordered_already_is_no_candidate() -> None:
    found = missing("b", f"a ({CLOCK})", f"b ({CLOCK})", select=f"{JOINED} AND b.n <= a.n + 2")
    assert not any("ORDERED BY n" in text for text in found)


def test_a_column_with_a_largest_value_is_never_proposed() -> None:
    found = missing("b", "a (k TINYINT)", "b (k TINYINT)", select=JOINED)
    assert found == ["FOLLOWS b (k) ON (k) WITHIN AUTO ON a"]


def test_punctuations_that_are_there_may_name_the_shared_columns_too() -> None:
    stream = "b (k BIGINT, v BIGINT, x BOOLEAN, PUNCTUATED ON (v) WHEN x)"
    assert "PUNCTUATED ON (k) WHEN x = true ON b" in missing("b", "a (k BIGINT)", stream, select=JOINED)


def test_a_product_has_no_candidate() -> None:
    assert missing("b", "a (k BIGINT)", "b (k BIGINT)", select="SELECT a.k FROM a, b") == []
