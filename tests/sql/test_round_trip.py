"""Whatever is valid prints back: the printed script parses to the same model, and prints to the same text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from penstock.model.script import Script
from penstock.model.types import Kind
from penstock.sql import parse_constraint, parse_script, print_script
from tests.measure import size
from tests.sql.strategies import scripts

SLOW_TO_WRITE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@pytest.mark.measure
@settings(max_examples=size(150, 5000), deadline=None, suppress_health_check=SLOW_TO_WRITE)
@given(scripts())
def test_printed_script_parses_to_the_same_model(text: str) -> None:
    script = parse_script(text)
    printed = print_script(script)
    again = parse_script(printed)
    assert again == script
    assert print_script(again) == printed
    event(f"{len(script.queries)} queries")


@settings(max_examples=size(100, 2000), deadline=None, suppress_health_check=SLOW_TO_WRITE)
@given(scripts())
def test_each_constraint_reads_back_as_implies_takes_it(text: str) -> None:
    script = parse_script(text)
    for stream in script.streams:
        for scheme in stream.schemes:
            read_stream, read_scheme = parse_constraint(scheme.on(stream.name), script)
            assert read_stream == stream
            assert read_scheme.text == scheme.text


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1), st.text())
def test_any_name_and_any_string_print_back(name: str, value: str) -> None:
    quoted = f"`{name}`"
    literal = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    text = f"CREATE STREAM {quoted} ({quoted} STRING, CHECK ({quoted} <> {literal}), CHECK ({quoted} = {literal}));"
    text += f"SELECT {quoted}.{quoted} FROM {quoted} WHERE {quoted} IN ({literal}, 'x')"
    script = parse_script(text)
    assert script.streams[0].name == name
    assert parse_script(print_script(script)) == script


@pytest.mark.parametrize("kind", [k for k in Kind if k not in (Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.DECIMAL)])
def test_every_plain_type_has_its_own_spelling(kind: Kind) -> None:
    script = _one_column(kind.value if kind is not Kind.INTERVAL else "INTERVAL DAY TO SECOND")
    column = script.streams[0].columns[0]
    assert column.type is not None
    assert column.type.kind is kind
    assert parse_script(print_script(script)) == script


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("LONG", "BIGINT"),
        ("integer", "INT"),
        ("short", "SMALLINT"),
        ("byte", "TINYINT"),
        ("REAL", "FLOAT"),
        ("DECIMAL", "DECIMAL(10,0)"),
        ("dec( 5 )", "DECIMAL(5,0)"),
        ("NUMERIC(7 , 2)", "DECIMAL(7,2)"),
        ("varchar( 12 )", "VARCHAR(12)"),
        ("TIMESTAMP_LTZ", "TIMESTAMP"),
        ("ARRAY<MAP<STRING, INT>>", "ARRAY<MAP<STRING, INT>>"),
    ],
)
def test_synonyms_of_types_become_one(written: str, text: str) -> None:
    column = _one_column(written).streams[0].columns[0]
    assert str(column.type) == text


def _one_column(kind: str) -> Script:
    return parse_script(f"CREATE STREAM s (c {kind})")


def test_lengths_may_be_intervals_as_spark_writes_them() -> None:
    stream = "CREATE STREAM s (ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {}3 SECONDS);"
    script = stream + "SELECT ts FROM s [RANGE {}5 DAYS]"
    assert parse_script(script.format("INTERVAL ", "INTERVAL ")) == parse_script(script.format("", ""))


def test_an_end_of_a_window_as_a_key_is_the_window() -> None:
    stream = "CREATE STREAM s (k INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts); "
    select = stream + "SELECT k, {} AS t, count(*) AS n FROM s "
    for end in ("start", "end"):
        key = f"window(ts, '5 minutes').{end}"
        whole = parse_script(select.format(key) + "GROUP BY k, window(ts, '5 minutes')")
        assert parse_script(select.format(key) + f"GROUP BY k, {key}") == whole
        assert parse_script(select.format(key) + "GROUP BY ALL") == whole


@pytest.mark.parametrize(
    "hints", ["BROADCAST(t)", "broadcast(t) MERGE(s, t)", "REPARTITION(3, k), SHUFFLE_HASH(t)", "COALESCE(1)", "SKEW"]
)
def test_hints_of_spark_are_passed_over_and_ours_beside_them_are_not(hints: str) -> None:
    streams = "CREATE STREAM s (k INT); CREATE STREAM t (k INT); SELECT {} s.k FROM s, t WHERE s.k = t.k"
    assert parse_script(streams.format(f"/*+ {hints} */")) == parse_script(streams.format(""))
    ours = "BUDGET(10 ROWS)"
    assert parse_script(streams.format(f"/*+ {hints}, {ours} */")) == parse_script(streams.format(f"/*+ {ours} */"))


def test_columns_of_one_function_are_named_in_parentheses() -> None:
    stream = "CREATE STREAM s (k INT, x ARRAY<STRING>); "
    several = parse_script(stream + "SELECT k, posexplode(x) AS (place, one) FROM s")
    assert [column.name for column in several.queries[0].answer] == ["k", "place", "one"]
    assert parse_script(print_script(several)) == several
