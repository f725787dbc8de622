"""Columns of any name: with a dot, as Zeek has them, and those that sound like ours; text that is none."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.measure import size
from tests.spark.conftest import Bench
from tests.spark.oracle import bag

ODD = ("id.orig_h", "__index", "__place", "__punctuation", "a`b", "n")
TYPES = (pa.string(), pa.int64(), pa.int64(), pa.bool_(), pa.int64(), pa.int64())
COLUMNS = "`id.orig_h` STRING, `__index` BIGINT, `__place` BIGINT, `__punctuation` BOOLEAN, `a``b` BIGINT, n BIGINT"
SCRIPT = """
CREATE STREAM conn ({columns},
  `a.ts` TIMESTAMP AS (timestamp_seconds(`__index`)), EVENT TIME `a.ts`, ORDERED BY `a.ts`,
  PUNCTUATED ON (`id.orig_h`) WHEN `__punctuation`, ORDERED BY `__place` WITHIN 9 ROWS ON VIOLATION QUARANTINE,
  PRIMARY KEY (`id.orig_h`, `__index`) ON VIOLATION QUARANTINE INTO odd)
  USING parquet OPTIONS (path '{data}/conn');
CREATE STREAM dns ({columns}, EVENT TIME `__index`, ORDERED BY `__index`) USING parquet OPTIONS (path '{data}/dns');
CREATE SINK odd USING parquet OPTIONS (path '{out}/odd');
CREATE SINK joined USING parquet OPTIONS (path '{out}/joined');
CREATE SINK apart USING parquet OPTIONS (path '{out}/apart');
CREATE SINK evaluated USING parquet OPTIONS (path '{out}/evaluated');
CREATE SINK counted USING parquet OPTIONS (path '{out}/counted');
CREATE SINK alone USING parquet OPTIONS (path '{out}/alone');
INSERT INTO joined SELECT c.`id.orig_h`, c.`__index` AS `the.index`, upper(d.`id.orig_h`) AS up, c.`__place`, d.`a``b`
  FROM conn c, dns d
  WHERE c.`id.orig_h` = d.`id.orig_h` AND c.`__index` = d.`__index` AND d.`__place` > 0 AND length(c.`id.orig_h`) > 0;
INSERT INTO apart SELECT DISTINCT d.`id.orig_h` FROM dns d, dns e WHERE e.`id.orig_h` = d.`id.orig_h`;
INSERT INTO evaluated SELECT DISTINCT d.`__index` + 1 AS `x.y`, d.`a``b` FROM dns d, dns e
  WHERE d.`id.orig_h` = e.`id.orig_h`;
INSERT INTO counted SELECT window(d.`__index`, 10).start AS ten, d.`id.orig_h`, sum(e.`__index`) AS `s.um`
  FROM dns d, dns e WHERE d.`id.orig_h` = e.`id.orig_h` AND d.`__index` = e.`__index`
  GROUP BY window(d.`__index`, 10), d.`id.orig_h`;
INSERT INTO alone SELECT d.`id.orig_h`, d.`a``b` FROM dns d LEFT JOIN dns e
  ON d.`id.orig_h` = e.`id.orig_h` AND e.`__index` = d.`__index` AND e.`__place` > 1 WHERE e.`__place` IS NULL;
"""


def row(host: str, index: int, place: int = 1, punctuation: bool = False, n: int = 1) -> dict[str, Any]:
    return dict(zip(ODD, (host, index, place, punctuation, index + 100, n), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["penstock", "spark"][: size(1, 2)])
def test_columns_with_a_dot_and_columns_that_sound_like_ours(bench: Bench, reader: str) -> None:
    schema = pa.schema(list(zip(ODD, TYPES, strict=True)))
    conn = [row("x", 1), row("x", 1, n=9), row("y", 2), row("x", 3), row("x", 4, punctuation=True)]
    bench.write("conn", conn, schema)
    bench.write("dns", [row("x", 1), row("y", 3, place=2), row("z", 3), row("v", 90)], schema)
    ran = bench.run(SCRIPT.replace("{columns}", COLUMNS), conf={"penstock.parquet": reader})
    assert ran.code == 0, ran.err
    assert bench.sink("joined") == bag([("x", 1, "X", 1, 101)])
    assert bench.sink("apart") == bag([("x",), ("y",), ("z",), ("v",)])
    assert bench.sink("evaluated") == bag([(2, 101), (4, 103), (91, 190)])
    assert bench.sink("counted") == bag([(0, "x", 1), (0, "y", 3), (0, "z", 3)])
    assert bench.sink("alone") == bag([("x", 101), ("z", 103)])
    (kept,) = bench.sink("odd")
    assert kept[:6] == ("x", 1, 1, False, 101, 9)


NO_TEXT = pa.array([b"\xff\xfe", b"a\x80b", b"plain"], pa.binary())
TEXTS = """
CREATE STREAM s (k STRING, n BIGINT{s}) USING parquet OPTIONS (path '{data}/s');
CREATE STREAM t (k STRING, n BIGINT{t}) USING parquet OPTIONS (path '{data}/t');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT DISTINCT hex(s.k) AS k, s.n, t.n AS m FROM s, t WHERE s.k = t.k;
"""


def write_no_text(bench: Bench, names: str = "0") -> None:
    """Text of which Parquet says that it is text, and that is none."""
    text = pa.StringArray.from_buffers(3, *NO_TEXT.buffers()[1:])
    for stream in "st":
        for name in names:
            pq.write_table(pa.table({"k": text, "n": [0, 1, 1]}), bench.place(stream, f"{name}.parquet"))


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["penstock", "spark"][: size(1, 2)])
def test_bytes_that_are_no_text_join_as_keys(bench: Bench, reader: str) -> None:
    write_no_text(bench)
    script = TEXTS.replace("{s}", ", PRIMARY KEY (k)").replace("{t}", ", FOREIGN KEY (k) REFERENCES s (k)")
    ran = bench.run(script, conf={"penstock.parquet": reader})
    assert ran.code == 0, ran.err
    assert bench.sink() == bag([("FFFE", 0, 0), ("618062", 1, 1), ("706C61696E", 1, 1)])


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("ORDERED BY k WITHIN 5 ROWS", "ON s: the column holds bytes that are no text in UTF-8"),
        ("PRIMARY KEY (k) ON VIOLATION FAIL", ": k = '"),
    ],
)
def test_bytes_that_are_no_text_are_told_in_a_sentence(bench: Bench, declared: str, says: str) -> None:
    write_no_text(bench, "01")
    ran = bench.run(TEXTS.replace("{s}", f", {declared}").replace("{t}", ""))
    assert ran.code == 1
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "UnicodeDecodeError" not in ran.err
