"""The metrics of several blocks: by the names that a user reads, each number as its kind asks for."""

from __future__ import annotations

from typing import Any

from penstock.model.shown_names import ShownNames
from penstock.runtime.block_counts import with_blocks

CASES = ShownNames(
    {"top": "", "asked_1": "", "asked_2": "", "view": "view."},
    frozenset({("top", "asked")}),
    {"asked_1": "case 1 of top", "asked_2": "case 2 of top"},
)


def block(**fields: Any) -> dict[str, Any]:
    return {"state_bytes": 1, "purged": {"dead": 1}, "fullest_cell": 1, **fields}


def test_cases_read_the_same_rows_and_store_their_own() -> None:
    blocks = {
        "asked_1": block(rows_in={"o": 5}, state_rows={"o": 1}, state_tuples={"o": 1}),
        "asked_2": block(rows_in={"o": 5, "r": 2}, state_rows={"o": 3, "r": 1}, state_tuples={"o": 2, "r": 1}),
        "top": block(rows_in={"asked": 4}, state_rows={"asked": 0}, state_tuples={"asked": 0}),
    }
    found = with_blocks("top", blocks, CASES)
    assert found["rows_in"] == {"o": 5, "r": 2}
    assert found["state_rows"] == {"o": 4, "r": 1}
    assert found["state_tuples"] == {"o": 3, "r": 1}
    assert (found["state_bytes"], found["purged"], found["fullest_cell"]) == (3, {"dead": 3}, 1)


def test_the_earliest_clock_and_the_oldest_row_count() -> None:
    blocks = {
        "asked_1": block(
            clock={"o": "2024-01-01T00:00:00.500000Z"},
            oldest={"o": {"batch": 3, "waits_for": ["r"]}},
            let_go={"o": {"PRIMARY KEY (id) ON orders": 1}},
        ),
        "asked_2": block(
            clock={"o": "2024-01-01T00:00:00Z"},
            oldest={"o": {"batch": 2, "waits_for": []}},
            let_go={"o": {"PRIMARY KEY (id) ON orders": 2}},
        ),
        "top": block(),
    }
    found = with_blocks("top", blocks, CASES)
    assert found["clock"] == {"o": "2024-01-01T00:00:00Z"}
    assert found["oldest"] == {"o": {"batch": 2, "waits_for": []}}
    assert found["let_go"] == {"o": {"PRIMARY KEY (id) ON orders": 3}}


def test_an_alias_below_has_its_block_before_it() -> None:
    waiting = {"b": {"batch": 0, "waits_for": ["c"]}}
    found = with_blocks("top", {"view": block(rows_in={"b": 2}, oldest=waiting), "top": block(rows_in={"a": 1})}, CASES)
    assert found["rows_in"] == {"a": 1, "view.b": 2}
    assert found["oldest"] == {"view.b": {"batch": 0, "waits_for": ["view.c"]}}
