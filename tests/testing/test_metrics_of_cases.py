"""A query that asks by EXISTS beside OR, or for a value, is cut into cases: its metrics say nothing of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.analysis.check import check_query
from penstock.explain.block_text import of_all_blocks
from penstock.live.about import about
from penstock.model.shown_names import shown_names
from penstock.testing import Run

STREAMS = """
CREATE STREAM orders (id BIGINT, amount BIGINT, ts BIGINT, EVENT TIME ts, PRIMARY KEY (id), ORDERED BY ts WITHIN 2);
CREATE STREAM refunds (oid BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
"""
REFUNDED = "EXISTS (SELECT 1 FROM refunds AS r WHERE r.oid = o.id AND r.ts BETWEEN o.ts AND o.ts + 5)"
BESIDE_OR = f"SELECT o.id FROM orders AS o WHERE o.amount > 100 OR {REFUNDED};"
AS_A_VALUE = f"SELECT o.id, {REFUNDED} AS back FROM orders AS o;"
IN_A_VIEW = f"""
CREATE VIEW flagged AS SELECT o.id, o.ts, {REFUNDED} AS back FROM orders AS o;
SELECT f.id, f.back, r.ts FROM flagged AS f JOIN refunds AS r ON r.oid = f.id AND r.ts BETWEEN f.ts AND f.ts + 9;
"""
CAME = {
    "orders": pa.table({"id": [1, 2, 3], "amount": [50, 100, 150], "ts": [1, 2, 3]}),
    "refunds": pa.table({"oid": [1, 9], "ts": [2, 3]}),
}


def first_line(query: str) -> dict[str, Any]:
    return dict(Run(STREAMS + query).step(CAME).metrics)


def test_what_was_read_is_told_once_by_the_aliases_of_the_query() -> None:
    for query in (BESIDE_OR, AS_A_VALUE):
        assert first_line(query)["rows_in"] == {"o": 3, "r": 2}


def test_what_is_stored_is_that_of_all_cases() -> None:
    line = first_line(AS_A_VALUE)
    # Two orders may still be refunded: each waits in both cases.
    assert line["state_tuples"]["o"] == 4
    assert set(line["state_rows"]) == set(line["clock"]) == set(line["oldest"]) == {"o", "r"}
    assert line["oldest"]["o"]["waits_for"] == ["r"]


def test_cases_of_a_view_are_named_by_the_view() -> None:
    assert first_line(IN_A_VIEW)["rows_in"] == {"f": 1, "r": 2, "flagged.o": 3, "flagged.r": 2}


def test_reports_have_the_same_names() -> None:
    for query in (BESIDE_OR, AS_A_VALUE, IN_A_VIEW):
        run = Run(STREAMS + query)
        verdict = check_query(run.query)
        names = set(run.step(CAME).metrics["state_tuples"])
        assert {state.alias for state in of_all_blocks(verdict).streams} == names
        assert {state["name"] for state in about(run.query, verdict, run.plan)["states"]} == names


def test_cases_are_counted_as_cases_of_their_query() -> None:
    shown = shown_names(Run(STREAMS + IN_A_VIEW).query)
    assert sorted(shown.cases.values()) == ["case 1 of flagged", "case 2 of flagged"]
