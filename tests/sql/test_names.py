"""Names as SQL users expect: any word in backticks, most words without; aliases and fields found where they are."""

from __future__ import annotations

import pytest
from sqlglot.dialects.spark import Spark

from penstock.errors import ScriptErrors
from penstock.model.names import RESERVED, nearest, quoted
from penstock.model.schemes import reference_of
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


def test_every_name_is_spelt_as_it_is_declared_once_it_is_bound() -> None:
    text = """
        CREATE STREAM Orders (Id BIGINT, Ts TIMESTAMP, Conn VIRTUAL, EVENT TIME TS, PRIMARY KEY (ID), ORDERED BY ts,
                              STREAM KEY (CONN) SPANS PAYMENTS, CHECK (iD > 0) ON VIOLATION QUARANTINE INTO BAD);
        CREATE STREAM Payments (Order_Id BIGINT, At TIMESTAMP, conn VIRTUAL, EVENT TIME AT,
                                FOLLOWS ORDERS (ID) ON (ORDER_ID), FOREIGN KEY (order_id) REFERENCES orders (id));
        CREATE SINK Bad USING parquet OPTIONS (path 'x');
        SELECT O.ID FROM ORDERS AS o, PAYMENTS AS p WHERE P.ORDER_ID = O.ID AND LOWER(O.ID) = '1' AND p.AT >= o.TS;
    """
    script = parse_script(text)
    orders, payments = script.streams
    names = {orders.name, payments.name, "Bad", *(c.name for s in script.streams for c in s.columns)}
    for stream in script.streams:
        for scheme in stream.schemes:
            reference = reference_of(scheme)
            assert set(scheme.own_columns) <= names
            if reference is not None:
                other = script.stream(reference.stream)
                assert other is not None
                assert all(stream.column(a) and other.column(b) for a, b in reference.pairs)
            if scheme.on_violation is not None:
                assert script.sink(scheme.on_violation.into or "") is not None
    (query,) = script.queries
    assert all(ref.column in names and ref.alias in ("o", "p") for p in query.predicates for ref in p.columns)
    assert orders.column("id") is None
    assert orders.spelling("ID") is orders.columns[0]
