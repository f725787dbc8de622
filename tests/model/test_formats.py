"""Which format a misspelt one was meant to be."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.model.formats import meant


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("jsom", "json"),
        ("JSON", None),
        ("parqet", "parquet"),
        ("kafak", "kafka"),
        ("org.apache.x.Y", None),
        ("zz", None),
    ],
)
def test_the_nearest_format(name: str, close: str | None) -> None:
    assert meant(name) == close


def test_check_tells_it_once_a_stream() -> None:
    script = penstock.parse("""
        CREATE STREAM s (k BIGINT) USING jsom OPTIONS (path 'x');
        CREATE TABLE d (k BIGINT) USING parqet OPTIONS (path 'y');
        SELECT s.k FROM s JOIN d ON s.k = d.k;
    """)
    said = list(each_told(penstock.check(script).notices))
    assert "Spark has no format jsom of its own, which s is read from: json may be meant" in said
    assert "Spark has no format parqet of its own, which d is read from: parquet may be meant" in said
