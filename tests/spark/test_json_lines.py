"""Of a line of JSON Spark reads the first value: a line that is more than one is found, and only such a line."""

from __future__ import annotations

import bz2
import gzip
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.model.stream import Storage
from penstock.spark import json_lines
from penstock.spark.json_lines import OneValueALine, asked_of_json, first_of_several

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text('{}[]",\\ aé\n', max_size=6)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text('ab{}"', max_size=2), v, max_size=3)
)
OBJECTS = st.dictionaries(st.text('ab{}"\\', max_size=3), VALUES, max_size=3)
ROOTS = st.one_of(OBJECTS, OBJECTS, st.lists(OBJECTS, max_size=3))
BEHIND = st.sampled_from(["{}", '{"id":2}', "}", "]", ",", "x", "1", '"', "[]", "null", ', {"a":[1]}', "]}"])


@st.composite
def one_value(draw: st.DrawFn) -> str:
    text = json.dumps(draw(ROOTS), ensure_ascii=draw(st.booleans()), separators=draw(_SEPARATORS))
    return draw(_BLANKS) + text + draw(_BLANKS)


_SEPARATORS = st.sampled_from([(", ", ": "), (",", ":"), (" ,", " : ")])
_BLANKS = st.sampled_from(["", "", " ", "\t"])


@given(st.lists(one_value() | st.just(""), max_size=8))
def test_lines_of_one_value_are_let_through(lines: list[str]) -> None:
    assert first_of_several("\n".join(lines).encode()) is None


@given(st.lists(one_value(), max_size=5), one_value(), BEHIND, _BLANKS, st.lists(one_value(), max_size=5))
def test_a_line_with_something_behind_its_value_is_found(
    before: list[str], value: str, behind: str, blank: str, after: list[str]
) -> None:
    wrong = value + blank + behind
    found = first_of_several("\n".join([*before, wrong, *after]).encode())
    assert found == (len(before), wrong.encode())


@pytest.mark.parametrize(
    "line",
    ['{"id":1', '{"id":}', "nothing", '{"id":"a}', "{'id':'}'}", '{"a":1}]'[:-1], "null", "5", '"{}"', "{}" * 0],
)
def test_what_is_no_json_is_left_to_spark(line: str) -> None:
    assert first_of_several(f'{{"id":0}}\n{line}\n{{"id":2}}\n'.encode()) is None


@pytest.mark.parametrize(
    "line",
    ["{'a':'}'}{'a':2}", '{"a":1,"x":+INF}{"a":2}', "{'it\\'s': -Infinity}}", """{"it's":1} {"it's":NaN}""", "[]{}"],
)
def test_what_spark_takes_beside_json_is_read_as_it_does(line: str) -> None:
    assert first_of_several(f'{{"id":0}}\n{line}\n'.encode()) == (1, line.encode())


@pytest.mark.parametrize(
    "lines",
    [
        b'{"a":"' + b'\\"' * 1_000_000 + b"\n",
        b"{'id':1,'msg':'a } b'}\n" * 200_000,
        b"2026-11-18 INFO {started}\n" * 200_000,
        (b'{"a":' * 900 + b"1" + b"}" * 900 + b"\n") * 1_000,
    ],
    ids=["a string without an end", "single quotes", "no JSON", "nested"],
)
def test_what_it_takes_follows_the_bytes(lines: bytes) -> None:
    started = time.perf_counter()
    assert first_of_several(lines) is None
    assert time.perf_counter() - started < 10


def test_nesting_as_deep_as_spark_reads_it() -> None:
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    assert first_of_several(deep) is None
    assert first_of_several(deep + b"}") == (0, deep + b"}")


WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "a.json": bytes,
    "a.json.gz": gzip.compress,
    "a.bz2": bz2.compress,
    "a.json.deflate": zlib.compress,
}


@pytest.mark.parametrize("portion", [7, 64, 1 << 20])
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_file_is_looked_at_in_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, name: str, portion: int
) -> None:
    written = WRITERS[name]
    monkeypatch.setattr(json_lines, "_PORTION", portion)
    rows = [json.dumps({"id": row, "more": {"of": [row]}}) for row in range(20)]
    good, bad = tmp_path / f"good {name}", tmp_path / name
    good.write_bytes(written(b"\xef\xbb\xbf" + ends.join(rows).encode()))
    bad.write_bytes(written(ends.join([*rows[:13], rows[13] + rows[14], *rows[15:]]).encode()))
    question = OneValueALine()
    question(str(good))
    question(good.as_uri())
    with pytest.raises(DataError, match="line 14: something stands behind the first value") as raised:
        question(bad.as_uri())
    assert '"id": 13' in str(raised.value)
    assert "ON MALFORMED NULL" in str(raised.value)


def test_lines_may_end_otherwise_and_files_be_of_one_value(tmp_path: Path) -> None:
    lines = tmp_path / "lines.json"
    lines.write_text('{"a":\n1};{"a":2};')
    assert asked_of_json(Storage("json", (("lineSep", ";"),))) == OneValueALine(separator=b";")
    OneValueALine(separator=b";")(str(lines))
    lines.write_bytes(b'{"a":1}\r\n{"a":\n2}\r\n')
    OneValueALine(separator=b"\r\n")(str(lines))
    lines.write_text('{"a":1};{"a":2} {"a":3};')
    with pytest.raises(DataError, match="line 2"):
        OneValueALine(separator=b";")(str(lines))
    whole = asked_of_json(Storage("json", (("multiLine", "true"),)))
    assert whole is not None
    lines.write_text('[{"a":\n 1},\n{"a": 2}]\n')
    whole(str(lines))
    lines.write_text('{"a":\n 1}\n{"a": 2}\n')
    with pytest.raises(DataError, match="something stands behind the first value"):
        whole(str(lines))


def test_files_of_another_encoding_and_places_are_not_looked_at(tmp_path: Path) -> None:
    assert asked_of_json(Storage("json", (("encoding", "UTF-16LE"),))) is None
    assert asked_of_json(Storage("json", (("encoding", "utf8"),))) is not None
    assert asked_of_json(Storage("csv")) is None
    OneValueALine()("s3a://bucket/a.json")
    OneValueALine()(str(tmp_path / "gone.json"))
