"""What a query writes is what the slow reference says, whatever the streams, keys, filters, cells and files."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.spark.conftest import Bench
from tests.spark.oracle import joined, same

ABN = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
STREAM = "CREATE STREAM {name} (a BIGINT, b BIGINT, n BIGINT) USING parquet OPTIONS (path '{{data}}/{name}', maxFilesPerTrigger '{files}');"


def test_two(bench: Bench) -> None:
    rng = random.Random(1)
    s = [[{"a": rng.randrange(5), "b": rng.randrange(5), "n": i} for i in range(20)] for _ in range(2)]
    for k, name in enumerate("st"):
        for i in range(2):
            bench.write(name, s[k][i * 10 : i * 10 + 10], ABN)
    script = "".join(STREAM.format(name=x, files=1).replace("{{", "{").replace("}}", "}") for x in "st")
    script += "CREATE SINK out USING parquet OPTIONS (path '{out}'); INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.a = t.a;"
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    assert bench.sink() == joined(s, lambda s, t: same(s["a"], t["a"]), lambda s, t: (s["n"], t["n"]))
    print(ran.err, ran.batches)
