"""Names as SQL users expect: any word in backticks, most words without; aliases and fields found where they are."""

from __future__ import annotations

import pytest
from sqlglot.dialects.spark import Spark

from penstock.errors import ScriptErrors
from penstock.model.names import RESERVED, nearest, quoted
from penstock.sql import parse_script, print_script
from penstock.sql.cursor import NOT_NAMES

WORDS = sorted({word for text in Spark.Tokenizer.KEYWORDS for word in text.split() if word.isalpha()} | RESERVED)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_a_name_in_backticks_and_prints_back(word: str) -> None:
    name = f"`{word}`"
    text = (
        f"CREATE STREAM {name} ({name} INT, other INT, PRIMARY KEY ({name}), CHECK ({name} > 0));"
        f"CREATE SINK {name} USING console;"
        f"INSERT INTO {name} SELECT {name}.{name} AS {name}, {name}.other + 1 AS x FROM {name} WHERE {name}.{name} > 3;"
        f"SELECT {name}.other FROM {name} AS {name} GROUP BY {name}.other"
    )
    script = parse_script(text)
    assert parse_script(print_script(script)) == script
    assert script.queries[0].outputs[0].name == word


@pytest.mark.parametrize("word", sorted(set(WORDS) - NOT_NAMES))
def test_every_word_that_is_not_reserved_may_be_a_column(word: str) -> None:
    script = parse_script(
        f"CREATE STREAM s ({word} INT, PRIMARY KEY ({word})); SELECT s.{word} FROM s WHERE s.{word} > 3"
    )
    assert script.streams[0].columns[0].name == word


@pytest.mark.parametrize("word", sorted(NOT_NAMES))
def test_reserved_word_as_a_column_gets_the_advice_to_quote_it(word: str) -> None:
    with pytest.raises(ScriptErrors) as raised:
        parse_script(f"CREATE STREAM s ({word} INT)")
    assert f"`{word}`" in str(raised.value.mistakes[0].hint)


def test_alias_hides_the_stream_and_exists_looks_inside_first() -> None:
    streams = "CREATE STREAM s (a INT, rows INT, st STRUCT<x: INT>); CREATE STREAM t (a INT, rows INT);"
    inner = parse_script(f"{streams} SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE a = s.a)").queries[0]
    assert str(inner.existences[0].condition[0]) == "t.a = s.a"
    # A plain column `rows` inside EXISTS does not hide the alias `rows` around it.
    around = parse_script(f"{streams} SELECT rows.a FROM s AS rows WHERE EXISTS (SELECT 1 FROM t WHERE t.a = rows.a)")
    assert str(around.queries[0].existences[0].condition[0]) == "t.a = rows.a"
    field = parse_script(f"{streams} SELECT st.x, s.st.x AS y FROM s").queries[0]
    assert [o.name for o in field.outputs] == ["x", "y"]
    assert [str(o.value) for o in field.outputs] == ["s.st.x", "s.st.x"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a", "a"),
        ("A_1", "A_1"),
        ("1a", "`1a`"),
        ("a b", "`a b`"),
        ("a`b", "`a``b`"),
        ("order", "`order`"),
        ("é", "`é`"),
    ],
)
def test_names_are_quoted_only_where_they_must_be(name: str, shown: str) -> None:
    assert quoted(name) == shown


def test_nearest_name_is_offered_in_its_own_spelling() -> None:
    assert nearest("AUCTOIN", ["bids", "Auction"]) == "Auction"
    assert nearest("xyz", ["bids", "auctions"]) is None


def test_a_string_with_a_doubled_quote_holds_one_as_in_spark() -> None:
    sink = parse_script("CREATE SINK o USING csv OPTIONS (a 'it''s', b 'x' 'y', c \"say \"\"so\"\"\")").sinks[0]
    assert dict(sink.storage.options) == {"a": "it's", "b": "xy", "c": 'say "so"'}
