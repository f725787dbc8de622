"""Answers written as Parquet by the workers that unpack them: columns all the way, and no row of the JVM in between.

Spark's own writer takes packed answers apart into rows, and each row into columns again: a quarter of all that an
ordinary join cost. Where SELECT only names columns of plain types and the sink is a folder of this machine's, the task
that would unpack an answer writes it as one Parquet file and hands on its name. The driver enters the names of a batch
into the log of Spark's file sink (`_spark_metadata`), by Spark's own class: who reads the folder by it, as Spark does,
sees whole batches, each once, whoever wrote them, and a run may go on with the other writer at any restart.

**Exactly once.** A batch is in the answer when its log entry is, which appears whole or not at all. One that is done
again writes files of other names: they are entered if the first attempt was not, and removed if it was. What a batch
that fails has written is removed; what a process that is killed has written stays, in no entry, as with Spark's writer.

Files have the names, types, codec and marks that Spark gives them. Not written here, but by Spark: folders by column,
other options, types that need an expression on their way back, and whatever a setting asks of Spark's writer beyond
codec and kind of timestamp. `penstock.parquet = spark` has Spark write everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]  # py4j ships no types
from pyspark import SparkContext, TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DataError
from penstock.model.stream import Sink
from penstock.runtime.state.store import from_ipc
from penstock.spark.failures import SPARK_ERRORS, said_again, what_it_says
from penstock.spark.handed_over import handed
from penstock.spark.local_files import is_on_local_disk
from penstock.spark.option_values import option_values
from penstock.spark.parquet_files import PLAIN
from penstock.spark.sinks import LOG, folder_of
from penstock.spark.types import arrow_schema
from penstock.spark.unpack import as_type
from penstock.spark.who_reads import PARQUET, is_ours
from penstock.spark.worker import settle
from penstock.spark.worker_files import MAKE_ROOM

_WRITTEN = "path STRING, size BIGINT, modified BIGINT"
_CODECS = {"snappy": ".snappy", "gzip": ".gz", "zstd": ".zstd", "none": "", "uncompressed": ""}
"""By what Spark calls them, what they add to the name of a file."""
_TIMESTAMPS = {"INT96": True, "TIMESTAMP_MICROS": False}
_CODEC, _TIMESTAMP = "spark.sql.parquet.compression.codec", "spark.sql.parquet.outputTimestampType"
_AS_SPARK_HAS_IT = {
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""Settings of Spark's writer that are to be what they are when nobody sets them."""
_TUNED = ("spark.hadoop.parquet.", "parquet.", "spark.sql.streaming.commitProtocolClass")
"""Beginnings of settings by which somebody asks more of Spark's writer."""
_CALLED_FROM = "callSite.short"
"""What Spark's property of a thread is called."""
_LOOKED_AT = 1000
"""Rows by which it is judged whether the values of a column repeat."""
_BLOCK = 32 << 20
"""What Spark's log says of a block of a local disk; nothing goes by it."""


@dataclass(frozen=True)
class PackedAnswer:
    """An answer whose SELECT only names columns, before it is unpacked."""

    rows: DataFrame
    """(payload)."""
    columns: tuple[str, ...]
    """What each column of SELECT is called in a payload."""
    types: tuple[str, ...]
    """As Spark writes them."""


def writes_columns(answer: DataFrame, packed: PackedAnswer | None, sink: Sink) -> bool:
    """Whether the workers can write an answer into its sink as Spark would."""
    if packed is None or sink.storage.format.lower() != "parquet":
        return False
    options = {name.lower(): value for name, value in option_values(sink.storage)}
    if options.keys() != {"path"} or any(kind.upper() not in PLAIN for kind in packed.types) or not packed.types:
        return False
    spark = answer.sparkSession
    conf, settings = spark.conf, dict(spark.sparkContext.getConf().getAll())
    return (
        is_ours(PARQUET, lambda name: conf.get(name, None))
        and is_on_local_disk(options["path"], lambda name: conf.get(name, None))
        # Hosts of a cluster may each have a folder of that name; Spark writes what it is told to.
        and str(spark.sparkContext.master).startswith("local")
        and not any(name.startswith(_TUNED) for name in settings)
        and str(conf.get(_CODEC)).lower() in _CODECS
        and conf.get(_TIMESTAMP) in _TIMESTAMPS
        and all(conf.get(name) == value for name, value in _AS_SPARK_HAS_IT.items())
    )


def files_of(answer: DataFrame, packed: PackedAnswer, sink: Sink, run: str) -> DataFrame:
    """The files that each batch of an answer is written as."""
    folder, conf = folder_of(sink), answer.sparkSession.conf
    assert folder is not None
    marks = {
        "org.apache.spark.version": answer.sparkSession.version,
        "org.apache.spark.sql.parquet.row.metadata": answer.schema.json(),
    }
    writer = FileWriter(
        str(folder.absolute()),
        run,
        packed.columns,
        arrow_schema(answer.schema),
        marks,
        str(conf.get(_CODEC)).lower(),
        _TIMESTAMPS[str(conf.get(_TIMESTAMP))],
    )
    return packed.rows.mapInArrow(writer, _WRITTEN)


@dataclass(frozen=True)
class FileWriter:
    """Writes the packed rows of a task as one file; the first task writes one even if it has no row, as Spark does."""

    folder: str
    run: str
    columns: tuple[str, ...]
    schema: Any
    marks: Mapping[str, str]
    """What Spark notes in a file, and goes by when it reads one."""
    codec: str
    in_int96: bool

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (payload) in, the file out."""
        settle("unpack")
        context = TaskContext.get()
        assert context is not None
        batch = context.getLocalProperty("streaming.sql.batchId")
        name = f"{_beginning(context.partitionId(), self.run, batch)}{context.taskAttemptId()}-c000"
        path = Path(self.folder) / f"{name}{_CODECS[self.codec]}.parquet"
        try:
            written = self._write(path, batches, even_empty=context.partitionId() == 0)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                why = error.strerror or str(error)
                raise DataError(f"cannot write {path}", detail=why, hint=MAKE_ROOM) from error
            raise
        if written:
            stat = path.stat()
            found = [str(path)], [stat.st_size], [stat.st_mtime_ns // 1_000_000]
            columns = [pa.array(*given) for given in zip(found, (pa.string(), pa.int64(), pa.int64()), strict=True)]
            yield pa.record_batch(columns, names=["path", "size", "modified"])

    def _write(self, path: Path, batches: Iterable[Any], *, even_empty: bool) -> bool:
        """Whether there is a file."""
        tables = (
            self._table(from_ipc(handed(payload.as_buffer()))) for batch in batches for payload in batch.column(0)
        )
        first = next(tables, self.schema.empty_table() if even_empty else None)
        if first is None:
            return False
        codec = "none" if self.codec == "uncompressed" else self.codec
        with pq.ParquetWriter(
            path,
            self.schema,
            compression=codec,
            use_dictionary=repeating(first),
            use_deprecated_int96_timestamps=self.in_int96,
            store_schema=False,
        ) as writer:
            writer.add_key_value_metadata(dict(self.marks))
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
        return True

    def _table(self, packed: Any) -> Any:
        columns = [
            as_type(packed.column(name), field.type) for name, field in zip(self.columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def repeating(table: Any) -> list[str]:
    """The columns of few values, by a look at the first rows: a dictionary of any other is made in vain.

    Of an answer with two identifiers and two random numbers among seven columns that was a quarter of the writing.
    """
    some = table.slice(0, _LOOKED_AT)
    return [name for name in some.column_names if 2 * pc.count_distinct(some.column(name)).as_py() <= len(some)]


def _beginning(task: int | str, run: str, batch: int | str | None) -> str:
    """What the names of the files of a batch begin with."""
    part = f"{task:05d}" if isinstance(task, int) else task
    return f"part-{part}-{run.rpartition('~')[2]}-{batch}-"


def entering(answer: DataFrame, sink: Sink, run: str) -> Callable[[DataFrame, int], None]:
    """What is done with the files of each batch: they are entered into the sink's log."""
    folder = folder_of(sink)
    assert folder is not None
    log: list[_SinkLog] = []

    def enter(files: DataFrame, batch: int) -> None:
        with _told(sink):
            folder.mkdir(parents=True, exist_ok=True)
            if not log:
                log.append(_SinkLog(answer.sparkSession, folder))
        try:
            # Also of a batch that is there already: what it did to the state must be done.
            with _called_as_before(files.sparkSession.sparkContext):
                written = [tuple(row) for row in files.collect()]
            with _told(sink):
                if batch > log[0].latest():
                    log[0].add(batch, written)
                else:
                    _remove(Path(path) for path, *_ in written)
        except (*SPARK_ERRORS, DataError) as error:
            _remove(folder.glob(f"{_beginning('*', run, batch)}*"))
            raise error if isinstance(error, DataError) else said_again(sink.name, error) from None

    return enter


@contextmanager
def _called_as_before(context: SparkContext) -> Iterator[None]:
    """The thread of the query goes on to know where it was called from: PySpark forgets that when it has collected.

    Spark would look for it in the stack, by patterns, as it makes each of the dozens of RDDs of every later batch.
    """
    known = context.getLocalProperty(_CALLED_FROM)
    try:
        yield
    finally:
        if known is not None:
            context.setLocalProperty(_CALLED_FROM, known)


@contextmanager
def _told(sink: Sink) -> Iterator[None]:
    """What the machine says if the log of a sink cannot be written, in a sentence."""
    try:
        yield
    except (*SPARK_ERRORS, OSError) as error:
        why = what_it_says(error) if isinstance(error, SPARK_ERRORS) else error.strerror or str(error)
        raise DataError(f"sink {sink.name}: its log cannot be written", detail=why, hint=MAKE_ROOM) from error


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()


class _SinkLog:
    """The log of Spark's file sink, by its own class."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        streaming = gateway.jvm.org.apache.spark.sql.execution.streaming
        # Newer versions have the sinks in a package of their own.
        is_apart = isinstance(streaming.sinks.FileStreamSinkLog, JavaClass)
        self._classes = streaming.sinks if is_apart else streaming
        version = self._classes.FileStreamSinkLog.VERSION()
        place = (folder.absolute() / LOG).as_uri()
        nothing = gateway.jvm.scala.Option.empty()
        self._log = self._classes.FileStreamSinkLog(version, spark._jsparkSession, place, nothing)

    def latest(self) -> int:
        """The last batch that is in it; -1 if none is."""
        found = self._log.getLatestBatchId()
        return int(found.get()) if found.isDefined() else -1

    def add(self, batch: int, files: Iterable[tuple[str, int, int]]) -> None:
        """Enter the files of a batch."""
        status = self._classes.SinkFileStatus
        made = [status(Path(path).as_uri(), size, False, modified, 1, _BLOCK, "add") for path, size, modified in files]
        entries = self._gateway.new_array(status, len(made))
        for place, entry in enumerate(made):
            entries[place] = entry
        if not self._log.add(batch, entries):
            raise DataError(
                f"batch {batch} was entered into the log of the sink by somebody else",
                hint="one run at a time may write a folder",
            )
