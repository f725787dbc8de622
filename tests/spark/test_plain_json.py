"""What is read of plain JSON is what Spark reads of it; all else is refused, so that Spark reads it.

The oracle is Spark's own reader of the same texts: lines drawn token by token, most of them odd in one place.
"""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.spark.plain_json import LONGEST, NotPlain, PlainColumns, read_plain
from tests.measure import size

TYPES = {
    "s": "STRING",
    "b": "BOOLEAN",
    "t": "TINYINT",
    "h": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "d": "DOUBLE",
    "day": "DATE",
    "at": "TIMESTAMP",
}
COLUMNS = PlainColumns(tuple(TYPES), tuple(TYPES.values()), is_utc=True)
ELSEWHERE = PlainColumns(tuple(TYPES), tuple(TYPES.values()))
_NUMBERS = (
    *("0", "-0", "7", "-7", "007", "+7", "1.0", "1e2", "1E+2", "1e-400", "1e400", ".5", "5.", "- 1", "0x1F", "1_000"),
    *("127", "128", "200", "-129", "32767", "32768", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "12345678901234567890123", "0.1", "-0.0", "2.2250738585072012e-308", "4.9e-324"),
    *("63.26211922450773", "9007199254740993", "1.7976931348623157e308", "1.7976931348623159e308", "5e-325"),
    *("NaN", "Infinity", "-Infinity", "-NaN", "Inf", "1" * 400, "0." + "3" * 950, "9" * 1001),
)
_STRINGS = (
    *('""', '" "', '"a"', '"é😀"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u0000"', '"\\n\\t\\"\\\\\\/"'),
    *(
        '"\\q"',
        '"\\x41"',
        '"a\tb"',
        '"}"',
        '"{"',
        '"}{"',
        '"NaN"',
        '"Inf"',
        '", Inf"',
        '"true"',
        '"1"',
        "'a'",
        '"a',
        "a",
    ),
    *('"\x7f"', '"\u2028"', f'"{"x" * 2000}"'),
)
_DAYS = ('"2024-05-01"', '"2024-5-1"', '"2023-02-29"', '"2024-02-29"', '"0000-01-01"', '"0001-01-01"', '"1582-10-10"')
_MORE_DAYS = ('"12024-05-01"', '"2024-05"', '"2024-05-01T00:00:00Z"', '" 2024-05-01"', '"-2024-05-01"', "19000")
_CLOCKS = ("12:30:01", "12:30:01.5", "12:30:01.123456", "12:30:01.1234567", "24:00:00", "12:30:60", "12:30", "12", "")
_ZONES = ("Z", "", "+01:00", "-17:59", "+18:00", "+19:00", "+0100", "+01", " UTC", "z", "[Europe/Paris]")
_TIMES = tuple(
    f'"{day}{between}{clock}{zone}"'
    for day, between, clock, zone in product(("2024-05-01", "1582-10-10", "0000-12-31"), "T ", _CLOCKS, _ZONES)
)
_OTHERS = ("null", "true", "false", "True", "[]", "[1]", "{}", '{"x":{"y":[1,2]}}', "nul", "", '{"x":Inf}', "[NaN]")
VALUES = (*_NUMBERS, *_STRINGS, *_DAYS, *_MORE_DAYS, *_OTHERS)
WHOLE = (
    *(
        "{}",
        '{"s":"a","s":"b"}',
        '{"z":1,"z":2,"i":3}',
        '{"i":1}{"i":2}',
        '{"i":1} ',
        ' {"i":1}',
        '{"i":1},',
        "[]",
        "null",
    ),
    *('{"i":1}x', '{"i":1,}', '{"i" : 1 , "s" : "a"}', '{"i":1 "s":"a"}', '{"\\u0069":5}', '{"I":5}', '{"i":1/*c*/}'),
    *(
        "{i:1}",
        '[{"i":1}]',
        '{"i":1',
        "{",
        '{"z":"a}',
        '{"z":' + "[" * 950 + "]" * 950 + "}",
        '{"z":' + "9" * 1001 + "}",
    ),
    *('{"z":' + "[" * 1100 + "]" * 1100 + "}", '{"' + "n" * 49_000 + '":1}', '{"' + "n" * 51_000 + '":1}', "", " "),
    *('{"z":Inf,"i":1}', '{"z":[-NaN]}', '{"z":NaN,"i":1}', '{"z":"\\ud800","i":1}', '{"z":tru,"i":1}', '{"z":01}'),
)


def one_line(draw: random.Random) -> str:
    """A line of some fields, each of its own type or of any; now and then one with something odd around it."""
    names = draw.sample([*TYPES, "z"], draw.randint(1, 4))
    fields = [f'"{name}":{_value(draw, name)}' for name in names]
    between = draw.choice([",", ",", ", ", " ,\t"])
    return "{" + between.join(fields) + "}"


def _value(draw: random.Random, name: str) -> str:
    if draw.random() < 0.25:
        return draw.choice(VALUES)
    match TYPES.get(name):
        case "STRING" | None:
            return draw.choice(_STRINGS)
        case "BOOLEAN":
            return draw.choice(["true", "false"])
        case "DOUBLE":
            return draw.choice(
                [*_NUMBERS, repr(draw.uniform(-1e9, 1e9)), repr(draw.random() * 10 ** draw.randint(-320, 300))]
            )
        case "DATE":
            return draw.choice(_DAYS)
        case "TIMESTAMP":
            return draw.choice([*_TIMES, *_MORE_DAYS])
        case _:
            return draw.choice([str(draw.randint(-(2**9), 2**9)), *_NUMBERS])


def ours(line: bytes, columns: PlainColumns) -> dict[str, Any] | None:
    """The row that is read of a line; None if it is left to Spark."""
    try:
        rows = read_plain(line, columns)
    except NotPlain:
        return None
    numbers = {name: rows.column(name).cast(kind) for name, kind in (("day", pa.int32()), ("at", pa.int64()))}
    return {name: numbers.get(name, rows.column(name))[0].as_py() for name in rows.column_names}


@pytest.mark.parametrize(("zone", "columns"), [("UTC", COLUMNS), ("America/New_York", ELSEWHERE)])
def test_what_is_read_is_what_spark_reads(spark: SparkSession, zone: str, columns: PlainColumns) -> None:
    draw = random.Random(zone)
    alone = [f'{{"{name}":{value}}}' for name in (*TYPES, "z") for value in VALUES]
    times = [f'{{"at":{value}}}' for value in _TIMES]
    drawn = [one_line(draw) for _ in range(size(4_000, 100_000))]
    lines = [*WHOLE, *alone, *times, *drawn]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        theirs = read_by_spark(spark, lines)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    taken = 0
    for line, row in zip(lines, theirs, strict=True):
        read = ours(line.encode("utf-8", "surrogatepass"), columns)
        if read is None:
            continue
        taken += 1
        assert row["bad"] is None, line
        # As text: 0.0 and -0.0 differ.
        assert repr(read) == repr({name: row[name] for name in TYPES}), line
    # Else it would be of no use: of all lines many are odd.
    assert taken > len(lines) / 10


def read_by_spark(spark: SparkSession, lines: list[str]) -> list[Row]:
    """The row that Spark reads of each line, as it reads the value of a record."""
    wanted = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
    texts = spark.createDataFrame([(n, line) for n, line in enumerate(lines)], "n INT, line STRING")
    read = texts.select("n", F.from_json("line", f"{wanted}, bad STRING", options).alias("row"))
    # Times as numbers: Python has no year 0, and would show instants in the zone of this machine.
    numbers = {"day": F.unix_date("row.day").alias("day"), "at": F.unix_micros("row.at").alias("at")}
    shown = [numbers.get(name, F.col(f"row.{name}")) for name in TYPES]
    return read.select("n", *shown, "row.bad").orderBy("n").collect()


GOOD = b'{"s":"a","i":1,"at":"2024-05-01T12:00:00Z"}'


def test_lines_are_read_together_and_one_that_is_not_plain_leaves_all_to_spark() -> None:
    rows = read_plain(b"\n".join([GOOD] * 1000), COLUMNS)
    assert (rows.num_rows, rows.column("i").to_pylist()) == (1000, [1] * 1000)
    for odd in WHOLE:
        if ours(odd.encode(), COLUMNS) is None:
            for lines in ([odd.encode(), GOOD], [GOOD, odd.encode()], [GOOD, odd.encode(), GOOD]):
                with pytest.raises(NotPlain):
                    read_plain(b"\n".join(lines), COLUMNS)


@pytest.mark.parametrize(
    "lines",
    [
        b'{"i":1}{"i":2}\n{"i":3',
        b'{"z":{"i":1}\n{"i":2}}',
        b'{"z":"a}\n{b","i":1}{"i":2}',
        b'{"i":1}\r{"i":2}',
        b'{"i":1,\r"s":"a"}',
        b'{"i":1}\n\n{"i":2}',
        b'{"i":1}\n',
        b'\xef\xbb\xbf{"i":1}',
        b'{"z":"\xff"}',
        b'{"z":"\xed\xa0\x80"}',
        b'{"\x00i":1}',
        b"",
    ],
)
def test_what_goes_over_a_line_or_is_no_text_is_left_to_spark(lines: bytes) -> None:
    with pytest.raises(NotPlain):
        read_plain(lines, COLUMNS)


def test_nested_values_that_nobody_declares_are_read_past() -> None:
    lines = [json.dumps({"i": n, "more": {"of": [{"it": n}, "}{", "\n"]}}).encode() for n in range(3)]
    assert read_plain(b"\n".join(lines), COLUMNS).column("i").to_pylist() == [0, 1, 2]
    assert ours(b'{"z":"' + b"x" * LONGEST + b'"}', COLUMNS) is None
