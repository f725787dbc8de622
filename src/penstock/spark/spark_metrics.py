"""The metrics of a run in Spark's own metrics system: for JMX, Graphite, StatsD, whatever Spark is set to tell.

Spark has them where its streaming metrics are asked for (`spark.sql.streaming.metricsEnabled`). Each is a gauge
`penstock.<query>.<name>[.<of what>]`, of the source AccumulatorSource of the driver, under the names that Prometheus is
given (`prometheus.py`) without their prefix. A character that is no letter, digit or underscore becomes an underscore.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.prometheus import Labels, PrometheusText

ENABLED = "spark.sql.streaming.metricsEnabled"
_PREFIX = "penstock_"


class SparkMetrics:
    """Gauges that follow what is told of batches."""

    def __init__(self) -> None:
        self._gauges: dict[str, tuple[Any, float]] = {}
        """By name, Spark's accumulator and what it holds."""

    def take(self, told: PrometheusText) -> None:
        """Let the gauges stand as the text does, if Spark is asked for such."""
        spark = SparkSession.getActiveSession()
        if spark is None or str(spark.conf.get(ENABLED, "false")).lower() != "true":
            return
        values = {gauge_name(name, labels): value for name, labels, value in told.samples()}
        self._register(spark, [name for name in values if name not in self._gauges])
        for name, value in values.items():
            gauge, before = self._gauges[name]
            if value != before:
                gauge.add(float(value - before))
                self._gauges[name] = gauge, value

    def _register(self, spark: SparkSession, names: list[str]) -> None:
        if not names:
            return
        context, jvm = spark.sparkContext, spark._jvm
        assert jvm is not None
        new = {name: context._jsc.sc().doubleAccumulator(name) for name in names}
        known = jvm.java.util.HashMap()
        for name, gauge in new.items():
            known.put(name, gauge)
        # The object of that name: its class has a method of the same name, which hides this one.
        sources = getattr(getattr(jvm, "org.apache.spark.metrics.source.DoubleAccumulatorSource$"), "MODULE$")
        sources.register(context._jsc.sc(), jvm.PythonUtils.toScalaMap(known))
        self._gauges |= {name: (gauge, 0.0) for name, gauge in new.items()}


def gauge_name(name: str, labels: Labels) -> str:
    """What a sample is called: `penstock.out.state_rows.a`."""
    query, *others = (_plain(value) for _, value in labels)
    return ".".join(("penstock", query, name.removeprefix(_PREFIX), *others))


def _plain(text: str) -> str:
    return re.sub(r"\W", "_", text, flags=re.ASCII)
