"""A script with more declarations: written where they belong, and nothing else changed."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import UsageError
from penstock.sql.more_declarations import with_declarations

_MORE = {"s": ["PRIMARY KEY (k)", "ORDERED BY ts"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "CREATE STREAM s (k INT, ts TIMESTAMP, EVENT TIME ts);",
            "CREATE STREAM s (k INT, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (k), ORDERED BY ts);",
        ),
        (
            "CREATE STREAM s (\n    k INT, ts TIMESTAMP,\n    EVENT TIME ts -- the clock\n) USING json;",
            "CREATE STREAM s (\n    k INT, ts TIMESTAMP,\n    EVENT TIME ts,\n    PRIMARY KEY (k),\n"
            "    ORDERED BY ts -- the clock\n) USING json;",
        ),
        (
            "CREATE STREAM s (\r\n  k INT,\r\n  ts TIMESTAMP);",
            "CREATE STREAM s (\r\n  k INT,\r\n  ts TIMESTAMP,\r\n  PRIMARY KEY (k),\r\n  ORDERED BY ts);",
        ),
        (
            "CREATE STREAM S\n( k INT, ts TIMESTAMP );",
            "CREATE STREAM S\n( k INT, ts TIMESTAMP, PRIMARY KEY (k), ORDERED BY ts );",
        ),
        (
            "CREATE STREAM x (k INT, ts TIMESTAMP);\nCREATE VIEW s AS SELECT k, ts FROM x;",
            "CREATE STREAM x (k INT, ts TIMESTAMP);\n"
            "CREATE VIEW s (PRIMARY KEY (k), ORDERED BY ts) AS SELECT k, ts FROM x;",
        ),
    ],
    ids=["on one line", "one a line, with a comment", "lines of Windows", "behind a bracket", "a view"],
)
def test_declarations_follow_the_last_element(before: str, after: str) -> None:
    assert with_declarations(before, _MORE) == after
    penstock.parse(after)


def test_what_the_script_does_not_declare_is_refused() -> None:
    with pytest.raises(UsageError, match="no stream and no view"):
        with_declarations("CREATE STREAM t (k INT);", _MORE)
