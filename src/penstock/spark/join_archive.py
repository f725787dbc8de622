"""The quiet hour (SHED's load smoothing): `penstock run --conf penstock.archive=join` joins what budgets have archived.

Each cell's archive is joined by a task of its own; the results that eviction lost, as SELECT has them, are written as
Parquet under `<archive>/answers/<n>`. With what the sink has they are the exact answer, each result once. How far
each cell was joined lies in the same folder, which appears at once or not at all: joining again adds only what has
become due since. Run it while the query itself does not run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import UsageError
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.runtime.budget.archive import missing_results
from penstock.runtime.state.store import to_ipc
from penstock.spark.answers import answered
from penstock.spark.archive_files import archive_of, batches_in, read_archived
from penstock.spark.failures import quiet_errors
from penstock.spark.file_order import escaped
from penstock.spark.hadoop_path import AnyPath, place_of, remove_folder, worker_folder
from penstock.spark.session import spark_log, start_session
from penstock.spark.types import arrow_schema
from penstock.spark.unpack import Unpacker, output_columns, restored_columns
from penstock.spark.worker import settle
from penstock.spark.worker_files import WorkerFolder

_ANSWERS, _PROGRESS = "answers", "_progress.json"


@dataclass(frozen=True)
class ArchiveJoiner:
    """Joins the archives of cells: (cell, last batch joined, last batch to join) in, packed results out."""

    plan: str
    place: WorkerFolder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow."""
        settle("archive")
        plan = Plan.from_json(self.plan)
        for batch in batches:
            for cell in batch.to_pylist():
                archived = read_archived(plan, self.place, cell["cell"], cell["upto"])
                for _, rows in missing_results(plan, archived, cell["after"]):
                    if rows is not None and rows.num_rows:
                        yield pa.record_batch([pa.array([to_ipc(rows)], pa.binary())], names=["payload"])


def run_quiet_hour(
    plans: Sequence[tuple[Query, Plan]], conf: Mapping[str, str], wanted: str, say: Callable[[str], None]
) -> list[str]:
    """Join the archives of a script's queries in a session of their own; a sentence for each."""
    if wanted != "join":
        raise UsageError(f"penstock.archive is join, not {wanted}")
    say("joining what was archived; Spark takes some ten seconds to start …")
    quiet_errors()
    lines = join_archives(start_session("penstock", dict(conf)), plans)
    spark_log().unlink(missing_ok=True)
    return lines


def join_archives(spark: SparkSession, plans: Sequence[tuple[Query, Plan]]) -> list[str]:
    """Join what the budgets of the queries have archived; a sentence for each query."""
    archived = [(query, plan, root) for query, plan in plans if (root := archive_of(plan)) is not None]
    if not archived:
        raise UsageError("no query of the script has an ARCHIVE", hint="add BUDGET(n ROWS), ARCHIVE('path')")
    return [_join(spark, query, plan, place_of(spark, root)) for query, plan, root in archived]


def _join(spark: SparkSession, query: Query, plan: Plan, root: AnyPath) -> str:
    joined = _progress(root)
    cells = sorted(_in(root, "cell-"))
    upto = {cell: found[-1] for cell in cells if (found := batches_in(_in(root / cell)))}
    due = [(cell, joined.get(cell, -1), last) for cell, last in upto.items() if last > joined.get(cell, -1)]
    if not due:
        return f"{query.name}: nothing was archived in {root} since it was last joined"
    asked = spark.createDataFrame(due, "cell STRING, after BIGINT, upto BIGINT").repartition(len(due))
    columns = output_columns(plan)
    joiner = ArchiveJoiner(plan.to_json(), worker_folder(spark, root))
    packed = asked.mapInArrow(joiner, "payload BINARY")
    rows = packed.mapInArrow(Unpacker(arrow_schema(columns)), columns).selectExpr(*restored_columns(plan))
    number = len(_answers(root))
    aside, target = root / _ANSWERS / f".{number:06d}", root / _ANSWERS / f"{number:06d}"
    remove_folder(aside)
    answered(rows, query, plan).write.parquet(str(aside))
    (aside / _PROGRESS).write_text(json.dumps({**joined, **upto}))
    # One type each: a folder never moves from one file system to another.
    aside.replace(target)  # type: ignore[arg-type]
    count = spark.read.parquet(escaped(str(target))).count()
    return f"{query.name}: {count:,} results that the budget had lost are in {target}"


def _in(folder: AnyPath, begin: str = "") -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(begin)] if folder.is_dir() else []


def _answers(root: AnyPath) -> list[str]:
    return sorted(name for name in _in(root / _ANSWERS) if name.isdigit())


def _progress(root: AnyPath) -> dict[str, int]:
    done = _answers(root)
    found: dict[str, int] = json.loads((root / _ANSWERS / done[-1] / _PROGRESS).read_text()) if done else {}
    return found
