"""A script as PySpark code; tests/spark/frames/test_to_pyspark.py runs it."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import NotSupportedYet
from penstock.explain.pyspark_code import promise_code, promises_code, variable
from penstock.frames.frame_promises import FramePromise

SCRIPT = """
CREATE STREAM orders (id BIGINT, ms BIGINT, kind STRING, ts TIMESTAMP AS (timestamp_millis(ms)), call VIRTUAL,
  EVENT TIME ts IDLE AFTER 1 HOUR, ARRIVES BY id ON VIOLATION FAIL, PARTS BY kind,
  PRIMARY KEY (id), ORDERED BY ts WITHIN 3 SECONDS, CLUSTERED BY id WITHIN 5 ROWS,
  PUNCTUATED ON (id) WHEN kind = 'end' LIFESPAN 5 HOURS,
  STREAM KEY (call) SPANS payments WINDOW [0, *],
  CHECK (id > 0 AND kind <> "it's") ON VIOLATION QUARANTINE
) USING parquet OPTIONS (path 'in/orders', maxFilesPerTrigger '1') WHERE kind IS NOT NULL;
CREATE STREAM payments (order_id BIGINT, ts TIMESTAMP, call VIRTUAL, EVENT TIME ts,
  FOLLOWS orders (id) ON (order_id) WITHIN 2 HOURS,
  FOREIGN KEY (order_id) REFERENCES orders (id) WINDOW [-5 SECONDS, 0],
  COOCCURS (order_id, ts) AND orders (id, ts)
) USING parquet OPTIONS (path 'in/payments');
SELECT /*+ BUDGET(10 ROWS), EVICT(prob), MONITOR(2, 0.5, 100) */ o.id
FROM orders o JOIN payments p ON o.id = p.order_id;
"""


def test_a_script_is_frames_promises_and_sql() -> None:
    code = penstock.to_pyspark(penstock.parse(SCRIPT))
    compile(code, "code", "exec")
    assert (
        'orders = spark.readStream.format("parquet").schema("id BIGINT, ms BIGINT, kind STRING")'
        '.option("path", "in/orders").option("maxFilesPerTrigger", "1").load()'
        '.withColumn("ts", F.expr("timestamp_millis(ms)")).where("kind IS NOT NULL")\n'
        'orders.createOrReplaceTempView("orders")\n'
    ) in code
    assert '"""), budget="10 rows", evict="prob", monitor=(2, 0.5, 100))\n' in code
    assert code.count("penstock.promise(") == 2


def test_each_declaration_is_a_value_that_prints_as_it_stood() -> None:
    orders, payments = penstock.parse(SCRIPT).streams
    names = {"penstock": penstock, "orders": None, "payments": None}
    for stream, other in ((orders, "payments"), (payments, "orders")):
        for scheme in stream.schemes:
            made: FramePromise = eval(promise_code(scheme), names)
            policy = "" if scheme.on_violation is None else f" {scheme.on_violation.text}"
            assert made.text(other) == scheme.text + policy
    (first, second) = promises_code((orders, payments))
    assert first.startswith('penstock.promise(\n    orders,\n    penstock.Virtual("call"),\n    penstock.EventTime(')
    assert (
        '    penstock.EventTime("ts", idle_after="1 hour"),\n    penstock.ArrivesBy("id", on_violation="fail"),\n'
        in first
    )
    assert 'penstock.Cooccurs(orders, "id", "ts", on=["order_id", "ts"])' in second


def test_what_sparks_sql_has_no_words_for_is_refused() -> None:
    with pytest.raises(NotSupportedYet, match="has a window on a stream"):
        penstock.to_pyspark(penstock.parse("CREATE STREAM s (a INT) USING parquet; SELECT a FROM s [ROWS 5];"))
    with pytest.raises(NotSupportedYet, match="stream s has no USING"):
        penstock.to_pyspark(penstock.parse("CREATE STREAM s (a INT); SELECT a FROM s;"))


def test_names_that_are_no_words() -> None:
    assert [variable(name) for name in ("a b", "1st", "§")] == ["a_b", "stream_1st", "stream"]
