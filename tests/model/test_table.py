"""What is left of the promises of a stream that is joined with a table, and of those about it."""

from __future__ import annotations

import pytest

from penstock.model.query import Query
from penstock.sql import parse_script

SCRIPT = """
CREATE STREAM o (id BIGINT, c STRING, ts TIMESTAMP, EVENT TIME ts, ARRIVES BY ts, PRIMARY KEY (id),
  ORDERED BY ts WITHIN 1 MINUTE, CLUSTERED BY c WITHIN 3 ROWS, CHECK (id > 0));
CREATE STREAM p (id BIGINT, o_id BIGINT, ts TIMESTAMP, EVENT TIME ts, FOREIGN KEY (o_id) REFERENCES o (id),
  FOLLOWS o (id) ON (o_id) WITHIN 5 ROWS, COOCCURS (o_id) AND o (id) WINDOW [0 SECONDS, 5 SECONDS]);
CREATE TABLE t (code STRING, n INT, PRIMARY KEY (code)) USING parquet OPTIONS (path 'x');
"""
ALL = ["PRIMARY KEY", "ORDERED", "CLUSTERED", "CHECK"]
OTHERS = ["FOREIGN KEY", "FOLLOWS", "COOCCURS"]


def query(joined: str) -> Query:
    return parse_script(f"{SCRIPT} SELECT o.id FROM p JOIN o ON p.o_id = o.id {joined};").queries[0]


def kinds(found: Query, alias: str) -> list[str]:
    known = [*ALL, *OTHERS]
    texts = [scheme.text for scheme in found.by_alias[alias].stream.schemes]
    return [kind for kind in known if any(text.startswith(kind) for text in texts)]


@pytest.mark.parametrize(
    ("joined", "own", "others"),
    [
        ("LEFT JOIN t ON o.c = t.code", ALL, OTHERS),
        ("JOIN t ON o.c = t.code", ALL, ["FOLLOWS", "COOCCURS"]),
        ("LEFT SEMI JOIN t ON t.n = o.id", ALL, ["FOLLOWS", "COOCCURS"]),
        ("WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.n = o.id)", ALL, ["FOLLOWS", "COOCCURS"]),
        ("LEFT JOIN t ON o.id = t.n", ["ORDERED", "CHECK"], ["COOCCURS"]),
        ("JOIN t ON o.id = t.n", ["ORDERED", "CHECK"], ["COOCCURS"]),
    ],
)
def test_a_join_with_a_table_keeps_what_follows(joined: str, own: list[str], others: list[str]) -> None:
    found = query(joined)
    assert kinds(found, "o") == own
    assert kinds(found, "p") == others
    stream = found.by_alias["o"].stream
    assert (stream.arrival is not None) == (own == ALL)
    assert stream.as_declared == parse_script(SCRIPT).streams[0]


def test_the_columns_of_a_table_are_columns_of_its_stream() -> None:
    found = query("LEFT JOIN t ON o.c = t.code WHERE t.n > 3 AND t.n = p.id")
    assert [str(p) for p in found.where] == ["o.`t.n` > 3"] or "o.`t.n` > 3" in map(str, found.predicates)
    assert found.type_of(found.predicates[-1].columns[0]) is not None


@pytest.mark.parametrize(
    ("joined", "names"),
    [
        ("t JOIN o ON o.c = t.code", ["code", "n", "id", "c", "ts"]),
        ("o JOIN t ON o.c = t.code", ["id", "c", "ts", "code", "n"]),
        ("t, o WHERE o.c = t.code", ["code", "n", "id", "c", "ts"]),
        (
            "o, t, p WHERE o.id = p.o_id AND t.n = o.id + p.id",
            ["id", "c", "ts", "code", "n", "p_id", "o_id", "p_ts"],
        ),
    ],
)
def test_all_columns_come_in_the_order_of_from(joined: str, names: list[str]) -> None:
    found = parse_script(f"{SCRIPT} SELECT * FROM {joined};").queries[0]
    assert [output.name for output in found.answer] == names
