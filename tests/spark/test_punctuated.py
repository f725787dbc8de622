"""Punctuated streams on Spark: WHEN as Spark evaluates it, punctuations in every cell of their line, flat state.

The auctions here are small; `penstock bench auctions` runs millions of bids.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.oracle import joined, same

ITEMS = pa.schema([("id", pa.int64()), ("n", pa.int64())])
BIDS = pa.schema([("item", pa.int64()), ("price", pa.int64()), ("kind", pa.string())])
STREAMS = """
CREATE STREAM items (id BIGINT, n BIGINT, PRIMARY KEY (id))
  USING parquet OPTIONS (path '{data}/items', maxFilesPerTrigger '2');
CREATE STREAM bids (item BIGINT, price BIGINT, kind STRING, FOREIGN KEY (item) REFERENCES items (id)%s)
  USING parquet OPTIONS (path '{data}/bids', maxFilesPerTrigger '2')%s;
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT i.id, b.price FROM items AS i, bids AS b WHERE i.id = b.item AND b.price > 5;
"""
PUNCTUATED = "PUNCTUATED ON (item) WHEN kind LIKE 'clos%'"
WITH = STREAMS % (f", {PUNCTUATED}", "")
WITHOUT = STREAMS % ("", " WHERE kind = 'bid'")

Rows = list[dict[str, Any]]


def auctions(bench: Bench, files: int = 6) -> tuple[Rows, Rows]:
    """Ten items a file; ten bids for each, some before the item and some in the next file, then its end."""
    items: Rows = []
    bids: Rows = []
    for number in range(files):
        opened = [{"id": 10 * number + n, "n": n} for n in range(10)]
        named = [item["id"] for item in opened] + [item["id"] for item in items[-10:]]
        made = [{"item": i, "price": p, "kind": "bid" if p % 4 else None} for i in named for p in range(1, 11)]
        closed = [{"item": item["id"], "price": 99, "kind": "closed"} for item in items[-10:]]
        bench.write("items", opened, ITEMS)
        bench.write("bids", [*made, *closed], BIDS)
        items += opened
        bids += made
    return items, bids


@pytest.mark.thorough
def test_state_stays_flat_with_punctuations_and_grows_without_and_the_answers_are_equal(bench: Bench) -> None:
    items, bids = auctions(bench)
    ran = bench.run(WITH.replace("SELECT i.id", "SELECT DISTINCT i.id"), unbounded=False)
    assert ran.code == 0, ran.err
    expected = joined(
        [items, bids], lambda i, b: same(i["id"], b["item"]) and b["price"] > 5, lambda i, b: (i["id"], b["price"])
    )
    assert bench.sink() == dict.fromkeys(expected, 1), "WHEN that is NULL means data"
    assert [batch["state_rows"]["(distinct)"] for batch in ran.batches] == [50, 50, 50], "of auctions that are open"
    assert [batch["rows_in"]["b"] for batch in ran.batches] == [300, 400, 400], "punctuations are no data"
    assert [batch["state_rows"]["i"] for batch in ran.batches] == [10, 10, 10]
    assert [batch["state_rows"]["b"] for batch in ran.batches] == [0, 0, 0]
    assert ran.batches[-1]["promise_rows"] == 0, "stored items stand for their own keys"
    assert sum(batch["purged"].get("complete", 0) for batch in ran.batches) > 0


def test_without_the_declaration_items_pile_up(bench: Bench) -> None:
    auctions(bench)
    ran = bench.run(WITHOUT)
    assert [batch["state_rows"]["i"] for batch in ran.batches] == [20, 40, 60]


@pytest.mark.parametrize("strategy", ["eager", "lazy"] if FULL else ["lazy"])
def test_a_stopped_run_goes_on_with_the_punctuations_it_had(bench: Bench, strategy: str) -> None:
    bench.write("items", [{"id": 7, "n": 0}], ITEMS)
    bench.write("bids", [{"item": 1, "price": 0, "kind": "closed"}], BIDS)
    first = bench.run(WITH, conf={"penstock.purge": strategy})
    assert (first.code, first.batches[-1]["promise_rows"]) == (0, 1)
    bench.write("items", [{"id": 1, "n": 0}], ITEMS)
    bench.write("bids", [{"item": 7, "price": 9, "kind": "bid"}], BIDS)
    second = bench.run(WITH, conf={"penstock.purge": strategy})
    assert second.code == 0, second.err
    assert bench.sink() == {(7, 9): 1}
    stored = second.batches[-1]["state_rows"]
    assert stored == ({"i": 1, "b": 0} if strategy == "eager" else {"i": 2, "b": 1})


def test_a_purge_that_is_neither_eager_nor_lazy_is_refused(bench: Bench) -> None:
    ran = bench.run(WITH, conf={"penstock.purge": "often"})
    assert ran.code == 2
    assert "penstock.purge is eager or lazy, not often" in ran.err


LATE = [{"item": 1, "price": 8, "kind": "bid"}]
END = [{"item": 1, "price": 0, "kind": "closed"}]


def run_late(bench: Bench, policy: str) -> Any:
    """A bid after the end of its item, in a later file of the same batch; the files are named against their age."""
    bench.write("items", [{"id": 5, "n": 0}], ITEMS)
    bench.write("bids", END, BIDS, name="z.parquet")
    bench.write("bids", LATE, BIDS, name="a.parquet")
    return bench.run(WITH.replace(PUNCTUATED, f"{PUNCTUATED} ON VIOLATION {policy}"))


def test_a_row_after_its_punctuation_fails_the_batch(bench: Bench) -> None:
    ran = run_late(bench, "FAIL")
    assert ran.code == 1
    assert f"a row of b breaks {PUNCTUATED} ON bids" in ran.err
    assert "item = 1" in ran.err


def test_a_row_after_its_punctuation_goes_into_quarantine(bench: Bench) -> None:
    ran = run_late(bench, "QUARANTINE")
    assert ran.batches[-1]["violations"] == {f"{PUNCTUATED} ON bids": 1}
    (folder,) = (bench.folder / "checkpoint").rglob("quarantine")
    found = [row for path in folder.rglob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert len(found) == 1


def test_a_row_before_its_punctuation_is_no_violation_whatever_the_files_are_called(bench: Bench) -> None:
    bench.write("items", [{"id": 5, "n": 0}], ITEMS)
    bench.write("bids", LATE, BIDS, name="z.parquet")
    bench.write("bids", END, BIDS, name="a.parquet")
    ran = bench.run(WITH.replace(PUNCTUATED, f"{PUNCTUATED} ON VIOLATION FAIL"))
    assert (ran.code, ran.batches[-1]["violations"]) == (0, {})


TRIANGLE = """
CREATE STREAM r (a BIGINT, b BIGINT, n BIGINT, PUNCTUATED ON (a) WHEN n < 0, PUNCTUATED ON (b) WHEN n < 0)
  USING parquet OPTIONS (path '{data}/r', maxFilesPerTrigger '1');
CREATE STREAM s (b BIGINT, c BIGINT, n BIGINT, PUNCTUATED ON (b) WHEN n = -1, PUNCTUATED ON (c) WHEN n = -2)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (c BIGINT, a BIGINT, n BIGINT, PUNCTUATED ON (c, a) WHEN n < 0)
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT r.n, s.n AS m, t.n AS o FROM r, s, t WHERE r.b = s.b AND s.c = t.c AND t.a = r.a;
"""


@pytest.mark.parametrize("cells", ["1", "8"] if FULL else ["8"])
def test_joint_punctuations_reach_every_cell_of_their_line_on_a_cycle(bench: Bench, cells: str) -> None:
    def file(stream: str, *columns: str) -> Any:
        schema = pa.schema([(c, pa.int64()) for c in (*columns, "n")])
        return lambda *rows: bench.write(stream, [dict(zip((*columns, "n"), row, strict=True)) for row in rows], schema)

    r, s, t = file("r", "a", "b"), file("s", "b", "c"), file("t", "c", "a")
    r((1, 1, 10), (2, 1, 11), (3, 2, 12)), s((1, 5, 20), (1, 6, 21), (2, 5, 22)), t((5, 1, 30))
    r((9, 9, -1)), s((1, 0, -1)), t((5, 1, -1), (5, 2, -1))
    r((9, 9, 13)), s((9, 8, 23)), t((6, 1, 31), (6, 1, -1), (6, 2, -1))
    ran = bench.run(TRIANGLE, conf={"penstock.cells": cells, "spark.sql.shuffle.partitions": "2"})
    assert ran.code == 0, ran.err
    assert bench.sink() == {(10, 20, 30): 1, (10, 21, 31): 1}
    assert [batch["state_tuples"]["r"] for batch in ran.batches] == [3, 3, 2], "10 and 11 wait for (5, a) and (6, a)"
    assert ran.batches[-1]["violations"] == {
        "PUNCTUATED ON (a) WHEN n < 0 ON r": 1,
        "PUNCTUATED ON (b) WHEN n < 0 ON r": 1,
    }
