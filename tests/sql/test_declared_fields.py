"""Fields of structs: their types, and those that are not there."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.errors import ScriptErrors
from penstock.model.graph import JoinGraph

STREAM = """CREATE STREAM s (k BIGINT, x STRUCT<a: INT, b: STRUCT<c: STRING, `d e`: INT>>,
  xs ARRAY<STRUCT<p: INT, q: DECIMAL(9,2)>>, m MAP<STRING, STRUCT<z: INT>>, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE, CHECK (ts IS NOT NULL));
"""


@pytest.mark.parametrize(
    ("expression", "wrong", "message"),
    [
        ("x.nofield", "nofield", "x has no field nofield"),
        ("s.x.b.cc", "cc", "s.x.b has no field cc"),
        ("x.a.b", "b", "x.a is INT, which has no fields"),
        ("xs[0].r", "r", "xs[0] has no field r"),
        ("xs.r", "r", "xs has no field r"),
        ("m['a'].zz", "zz", "m['a'] has no field zz"),
        ("(x.b).cc", "cc", "x.b has no field cc"),
        ("count(x.nofield)", "nofield", "x has no field nofield"),
    ],
)
def test_a_field_that_a_struct_has_not(expression: str, wrong: str, message: str) -> None:
    with pytest.raises(ScriptErrors) as raised:
        parse(f"{STREAM}SELECT {expression} AS y FROM s GROUP BY window(ts, '1 hour');")
    (mistake,) = raised.value.mistakes
    assert mistake.message == message
    place = len("SELECT ") + expression.rfind(wrong) + 1
    assert (mistake.place.line, mistake.place.column) == (4, place)


@pytest.mark.parametrize(
    "expression",
    ["X.A", "x.b.`d e`", "xs.p", "xs[0].q", "m.any.z", "m['a'].z", "map_values(m)[0].z", "transform(xs, x -> x.p)"],
)
def test_fields_that_are_there_or_not_known(expression: str) -> None:
    parse(f"{STREAM}SELECT {expression} AS y FROM s;")


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("x.a", "INT"),
        ("x.b.c", "STRING"),
        ("x.b", "STRUCT<c: STRING, `d e`: INT>"),
        ("xs[0].q", "DECIMAL(9,2)"),
        ("xs.p", "ARRAY<INT>"),
        ("m['a'].z", "INT"),
        ("named_struct('u', k, 'v w', ts)", "STRUCT<u: BIGINT, `v w`: TIMESTAMP>"),
        ("struct(k, ts AS t)", "STRUCT<k: BIGINT, t: TIMESTAMP>"),
    ],
)
def test_a_block_knows_the_types_of_fields(expression: str, kind: str) -> None:
    member = f"SELECT {expression} AS y FROM s"
    (query,) = parse(f"{STREAM}SELECT y, 1 AS one FROM ({member} UNION ALL {member});").queries
    (source,) = query.sources
    assert str(source.stream.type_of("y")) == kind


def test_an_equality_of_fields_is_a_key() -> None:
    query = "SELECT a.k FROM s AS a JOIN s AS b ON a.x.a = b.x.a AND a.ts = b.ts;"
    (parsed,) = parse(STREAM + query).queries
    assert [str(key) for key in JoinGraph.of(parsed).key_classes] == ["a.`a.x.a` = b.`b.x.a`", "a.ts = b.ts"]


def test_a_star_of_a_struct_is_its_fields() -> None:
    (query,) = parse(f"{STREAM}SELECT k, x.* FROM s;").queries
    assert [output.name for output in query.answer] == ["k", "a", "b"]
    (query,) = parse(f"{STREAM}SELECT x.* EXCEPT (a) FROM s;").queries
    assert [output.name for output in query.answer] == ["b"]
