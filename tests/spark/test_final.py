"""`--final`: the end of what is there is the end of every stream, and a checkpoint so ended takes no more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import UsageError
from penstock.spark.final import End
from tests.spark.conftest import Bench
from tests.spark.test_run import is_clean

ROW = pa.schema([("k", pa.int64()), ("ts", pa.int64())])
STREAMS = """
CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts) USING parquet OPTIONS (path '{data}/a');
CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts) USING parquet OPTIONS (path '{data}/b');
CREATE SINK out USING parquet OPTIONS (path '{out}/rows');
CREATE SINK counts USING parquet OPTIONS (path '{out}/counts');
INSERT INTO out SELECT a.k, b.ts FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 100;
INSERT INTO counts SELECT window(a.ts, 10).start AS w, count(*) AS n
  FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 100 GROUP BY window(a.ts, 10);
"""


def rows(*pairs: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"k": k, "ts": ts} for k, ts in pairs]


def test_the_end_of_the_streams_decides_what_waits_and_takes_no_more(bench: Bench) -> None:
    bench.write("a", rows((1, 1), (2, 2), (3, 13)), ROW)
    bench.write("b", rows((1, 5), (3, 15)), ROW)
    before = bench.run(STREAMS)
    assert is_clean(before, 0), before.err
    assert bench.sink("rows") == Counter({(1, 5): 1, (3, 15): 1})
    assert bench.sink("counts") == Counter()
    assert "out: up to 3 rows of a may still be emitted: a row of a without a match in b is emitted" in before.err
    assert "counts: 2 groups not closed yet" in before.err
    ended = bench.run(STREAMS, final=True)
    assert is_clean(ended, 0), ended.err
    assert bench.sink("rows") == Counter({(1, 5): 1, (3, 15): 1, (2, None): 1})
    assert bench.sink("counts") == Counter({(0, 1): 1, (10, 1): 1})
    assert "may still be emitted" not in ended.err
    assert "not closed yet" not in ended.err
    assert [line["state_tuples"] for line in ended.batches if line["query"] == "out"][-1] == {"a": 0, "b": 0}
    bench.write("a", rows((9, 900)), ROW)
    again = bench.run(STREAMS)
    assert is_clean(again, 2), again.err
    assert "was ended by --final: it takes no more data" in again.err
    assert bench.sink("rows") == Counter({(1, 5): 1, (3, 15): 1, (2, None): 1})


@pytest.mark.thorough
def test_without_a_checkpoint_the_end_is_the_end_too(bench: Bench) -> None:
    bench.write("a", rows((1, 1), (2, 2)), ROW)
    bench.write("b", rows((1, 5)), ROW)
    script = STREAMS.partition("CREATE SINK")[0] + (
        "SELECT a.k, a.ts FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 100);"
    )
    ran = bench.run(script, checkpoint=None, final=True)
    assert is_clean(ran, 0), ran.err
    assert sum(line["rows_out"] for line in ran.batches) == 1
    assert ran.err.rstrip().endswith("query_1: exact")


def test_an_end_that_was_interrupted_goes_on_with_final_alone(tmp_path: Path) -> None:
    end = End(tmp_path)
    end.require(final=False)
    assert not end.is_declared
    end.declare()
    assert end.is_declared
    with pytest.raises(UsageError, match="once more with --final"):
        end.require(final=False)
    end.require(final=True)
    end.confirm()
    for final in (False, True):
        with pytest.raises(UsageError, match="takes no more data"):
            end.require(final=final)
