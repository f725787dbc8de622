"""What differs between two scripts, in the user's words."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.changed_text import changes, written_lines

SCRIPT = """
CREATE STREAM a (id BIGINT, n INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (id));
CREATE STREAM b (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts) USING json OPTIONS (path 'x') WHERE id > 0;
SELECT a.id, b.ts FROM a, b WHERE a.id = b.id AND b.ts - a.ts <= INTERVAL 10 MINUTES;
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "3 SECONDS",
            "5 SECONDS",
            ["stream a: `ORDERED BY ts WITHIN 3 SECONDS` then, `ORDERED BY ts WITHIN 5 SECONDS` now"],
        ),
        (", PRIMARY KEY (id)", "", ["stream a: `PRIMARY KEY (id)` is gone"]),
        ("n INT", "n INT, m INT", ["stream a: `m INT` is new"]),
        ("a (id BIGINT", "a (id INT", ["stream a: `id BIGINT` then, `id INT` now"]),
        ("id > 0", "id > 1", ["stream b: `WHERE id > 0` then, `WHERE id > 1` now"]),
        ("a.id, b.ts", "a.id, a.n, b.ts", ["the query: `SELECT a.id, b.ts` then, `SELECT a.id, a.n, b.ts` now"]),
        ("path 'x'", "path 'y'", []),
        ("ORDERED BY ts)", "ORDERED BY ts, ON MALFORMED NULL)", []),
    ],
)
def test_what_stood_there_and_what_stands_there_now(old: str, new: str, told: list[str]) -> None:
    then, now = (penstock.parse(text).queries[0] for text in (SCRIPT, SCRIPT.replace(old, new, 1)))
    assert changes(written_lines(then), written_lines(now)) == told


def test_a_clause_of_the_query_is_shown_alone() -> None:
    then, now = (penstock.parse(text).queries[0] for text in (SCRIPT, SCRIPT.replace("10 MINUTES", "5 MINUTES")))
    (phrase,) = changes(written_lines(then), written_lines(now))
    assert phrase.startswith("the query: `AND b.ts <= a.ts + INTERVAL 10 MINUTES` then, ")


def test_a_stream_of_kafka_is_said_to_be_one_but_not_of_which_brokers() -> None:
    text = SCRIPT.replace("USING json OPTIONS (path 'x')", "USING kafka OPTIONS (subscribe 'x')")
    text = text.replace("EVENT TIME ts, ORDERED BY ts)", "EVENT TIME ts IDLE AFTER 1 HOUR, ORDERED BY ts)")
    then, now = (penstock.parse(one).queries[0] for one in (text, text.replace("'x'", "'y'")))
    assert changes(written_lines(then), written_lines(now)) == []
    assert ["stream b", "USING kafka"] in written_lines(now)
