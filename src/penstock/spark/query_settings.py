"""What Spark is told as a query starts, by what kind of query it is; a setting of the user's own wins.

A query keeps the settings that its session has when it starts, so they are set for that moment and taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.model.script import Script
from penstock.plan.plan import Plan
from penstock.spark.local_files import reads_files
from penstock.spark.running import Running
from penstock.spark.session import ON_HEAP, PARTITIONS, PROVIDER, SETTINGS, set_meanwhile
from penstock.spark.stream import Assembled
from penstock.spark.writers import writes_packed

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark writes Java for what it evaluates, in every batch and in many a task anew, and then finds it compiled.

Where it sees but packed rows, a few a batch, that was a tenth of what its JVM did.
"""

_FEW_TASKS = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": str(4 << 20),
    "spark.sql.files.openCostInBytes": str(64 << 10),
}
"""Small files of a stream are packed by one task, up to as much as is packed in the time that a task costs by itself.

Spark would have as many tasks for each stream as there are cores, however little came.
"""


@contextmanager
def settings_of_its_kind(spark: SparkSession, script: Script, one: Running, conf: Mapping[str, str]) -> Iterator[None]:
    """While a query starts: where its state lies, in how many tasks it reads and keeps, what of it Spark compiles."""
    wanted = {name: value for name, value in _wanted(spark, script, one, conf).items() if name not in conf}
    with set_meanwhile(spark, wanted):
        yield


def decodes_all(
    script: Script, plans: Sequence[Plan], conf: Mapping[str, str], left: frozenset[str] = frozenset()
) -> bool:
    """Whether the packer decodes every stream of every query; those that are `left` to Spark it does not."""
    asked = {**SETTINGS, **conf}.get
    return all(
        plan.rewriting is None and name not in left and reads_files(plan, stream, asked)
        for plan in plans
        for name in plan.read_streams
        if (stream := script.stream(name)) is not None
    )


def _wanted(spark: SparkSession, script: Script, one: Running, conf: Mapping[str, str]) -> dict[str, str]:
    cores = spark.sparkContext.defaultParallelism
    if one.plan.rewriting is not None and not one.plan.rewriting.group_names:
        # A few counts are stored and opened in no time on the heap; one that goes on keeps the store it has.
        return {PARTITIONS: "1", PROVIDER: ON_HEAP}
    settings = {PARTITIONS: str(_partitions(one.assembled, cores))}
    sink = script.sink(one.query.sink) if one.query.sink is not None else None
    # Between blocks Spark may evaluate something on every row.
    is_packed = sink is not None and len(one.assembled.plans) == 1 and writes_packed(one.assembled, sink)
    if is_packed and decodes_all(script, [one.plan], conf, one.left_to_spark):
        settings |= _INTERPRETED | _FEW_TASKS
    return settings


def _partitions(assembled: Assembled, cores: int) -> int:
    """The tasks that the cells of a query are dealt to as it starts; of one that goes on Spark keeps the number.

    A task costs more than a cell: a store that is opened, a worker that is spoken to.
    """
    return min(assembled.cells or cores, cores)
