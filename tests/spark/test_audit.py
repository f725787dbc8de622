"""`penstock.audit` on Spark: what a purge has lost is counted, and the setting may change at a restart."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.spark.conftest import Bench

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.int64())])
SCRIPT = """
CREATE STREAM r (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION TRUST)
  USING parquet OPTIONS (path '{data}/r', maxFilesPerTrigger '1');
CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION TRUST)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT r.k, s.ts FROM r, s WHERE r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 5;
"""


@pytest.mark.thorough
def test_an_audit_counts_what_would_have_met_a_row_that_has_left(bench: Bench) -> None:
    for number, ts in enumerate((10, 100)):
        for stream in "rs":
            bench.write(stream, [{"k": number, "ts": ts}], SCHEMA)
    wrong = bench.run(SCRIPT, conf={"penstock.audit": "2"})
    assert wrong.code == 2
    assert "penstock.audit is a share of the keys from 0 to 1" in wrong.err
    first = bench.run(SCRIPT, conf={"penstock.audit": "1"})
    assert first.code == 0, first.err
    assert first.batches[-1]["audited"] == 2
    bench.write("s", [{"k": 0, "ts": 12}], SCHEMA)
    late = bench.run(SCRIPT, conf={"penstock.audit": "1"})
    assert late.batches[-1]["lost"] == 1
    bench.write("s", [{"k": 0, "ts": 13}], SCHEMA)
    off = bench.run(SCRIPT, conf={"penstock.audit": "0"})
    assert off.code == 0, off.err
    assert "audited" not in off.batches[-1]
    bench.write("s", [{"k": 0, "ts": 14}], SCHEMA)
    assert bench.run(SCRIPT, conf={"penstock.audit": "0"}).batches[-1]["lost"] == 0
