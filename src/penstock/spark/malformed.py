"""A value that does not read as its declared type, in JSON, CSV, XML or a record of Kafka: `ON MALFORMED`.

Spark's readers of text give NULL for it, and say nothing. Asked for it, they also give the text of a row in which some
value did not read; that is how such a row is known here, before WHERE or any filter sees it. FAIL stops the query with
the file, the text of the row and its columns that have no value; QUARANTINE hands file and text to the packer, and a
cell writes them (`quarantine`); NULL goes on with what Spark reads. The rows are counted under every policy.

Values are looked at in all declared columns, those that the query does not read among them: what is wrong with a row is
no matter of who asks. A row of CSV is also malformed if it has more or fewer values than the stream has columns. A
stream that itself declares the column in which Spark puts the text (`_corrupt_record`) takes malformed rows as they
are. What other formats hold has a type of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import fold, quoted
from penstock.model.stream import OF_RECORD, MalformedPolicy, OnMalformed, Stream
from penstock.spark.option_values import option_values

_TEXTS = frozenset({"json", "csv", "xml"})
_OPTION = "columnNameOfCorruptRecord"
ORIGIN = "__ps_origin"
"""Where a record of Kafka stands: its topic, partition and offset."""
_RECORD = "__ps_malformed"
"""The text of a malformed row, as Spark's reader gives it."""
KEPT = ("__ps_malformed_file", "__ps_malformed_record")
"""What the packer is handed of a row in quarantine: its file and its text; NULL for every other row."""
QUARANTINED = "source_file STRING, record STRING"
"""What is written of it."""
_LONGEST = 300
"""Characters shown of a row."""


def is_text(stream: Stream) -> bool:
    """Whether values of the stream are read from text, by Spark."""
    return stream.storage is not None and (stream.storage.format.lower() in _TEXTS or stream.is_kafka)


def answer_to(stream: Stream) -> OnMalformed:
    """What is done with malformed rows of a stream."""
    if stream.on_malformed is None and own_record(stream) is not None:
        return OnMalformed(MalformedPolicy.NULL)
    return stream.on_malformed or OnMalformed()


def quarantines(stream: Stream) -> bool:
    """Whether malformed rows of it are written beside the query."""
    return is_text(stream) and answer_to(stream).policy is MalformedPolicy.QUARANTINE


def reading_options(stream: Stream) -> dict[str, str]:
    """What Spark's reader is told so that it tells malformed rows."""
    given = _options(stream)
    if given.get("mode", "").upper() == "DROPMALFORMED":
        raise UsageError(
            f"stream {stream.name}: mode DROPMALFORMED would drop rows that nobody counts",
            hint="leave mode out, and write ON MALFORMED QUARANTINE among the columns",
        )
    told = {_OPTION: record_column(stream)}
    if stream.storage is not None and stream.storage.format.lower() == "csv":
        # Else a row with too few values is one with NULLs where the query reads none of them.
        told["columnPruning"] = given.get("columnpruning", "false")
    return told


def reading_columns(stream: Stream) -> tuple[str, ...]:
    """What stands in the schema that is read beside the declared columns."""
    return () if own_record(stream) is not None else (f"{quoted(_RECORD)} STRING",)


def record_column(stream: Stream) -> str:
    """The column in which the text of a malformed row stands."""
    return own_record(stream) or _RECORD


def observation_of(observation: str, stream: str) -> str:
    """How malformed rows of a stream are observed."""
    return f"{observation}_malformed_{stream}"


def malformed_counts(observation: str, streams: Collection[str], observed: Mapping[str, Any]) -> dict[str, int]:
    """The malformed rows of each of the streams, from what Spark observed of a batch."""
    found = {name: observed.get(observation_of(observation, name)) for name in streams}
    return {name: int(row["rows"] or 0) if row is not None else 0 for name, row in found.items()}


def judged(
    frame: DataFrame, stream: Stream, observation: str | None = None, what: str = "stream"
) -> tuple[DataFrame, tuple[Column, ...]]:
    """What was read of a stream, with malformed rows counted and answered; and what is kept of those in quarantine."""
    if not is_text(stream):
        return frame, ()
    own = OF_RECORD if stream.is_kafka else ()
    plain = [
        c for c in stream.carried if c.derived is None and c.name != own_record(stream) and fold(c.name) not in own
    ]
    record = F.col(quoted(record_column(stream)))
    if observation is not None:
        rows = F.count_if(record.isNotNull()).alias("rows")
        # Spark looks at the values of columns that are asked for, and at no other.
        absent = [F.count_if(F.col(quoted(column.name)).isNull()) for column in plain]
        beside = [reduce(add, absent).alias("absent")] if absent else []
        frame = frame.observe(observation_of(observation, stream.name), rows, *beside)
    file = F.col(ORIGIN if stream.is_kafka else "_metadata.file_path")
    match answer_to(stream).policy:
        case MalformedPolicy.NULL:
            return frame, ()
        case MalformedPolicy.QUARANTINE:
            # Bytes that are no UTF-8 would make a column of strings that its readers cannot read.
            return frame, (F.when(record.isNotNull(), file).alias(KEPT[0]), F.make_valid_utf8(record).alias(KEPT[1]))
        case MalformedPolicy.FAIL:
            absent = [F.when(F.col(quoted(c.name)).isNull(), F.lit(f"{c.name} {c.type}")) for c in plain]
            failure = F.raise_error(_message(stream, what, file, record, F.concat_ws(", ", *absent)))
            return frame.where(F.when(record.isNull(), F.lit(True)).otherwise(failure.cast("boolean"))), ()


def _message(stream: Stream, what: str, file: Column, record: Column, absent: Column) -> Column:
    """What is raised; `failures` reads it again where it stands behind what Spark says before a raised text.

    It stands in the plan as well, which Spark prints with every failure.
    """
    may_answer = what == "stream"
    row = F.regexp_replace(F.substring(record, 1, _LONGEST), r"\\s+", " ")
    return F.concat(
        F.lit(f"{what} {stream.name}: a row does not read as declared in "),
        file,
        F.lit("\n  detail: the row is "),
        row,
        F.when(absent != "", F.concat(F.lit("; it gives no value of "), absent)).otherwise(F.lit("")),
        F.lit("\n  hint: declare the type that it has"),
        F.lit(", or say what is to be done: ON MALFORMED QUARANTINE | NULL, among the columns" if may_answer else ""),
        F.lit("\n"),
    )


def own_record(stream: Stream) -> str | None:
    """The declared column in which Spark puts the text of malformed rows, if there is one."""
    if not is_text(stream):
        return None
    wanted = fold(_options(stream).get(_OPTION.lower(), "_corrupt_record"))
    return next((c.name for c in stream.carried if fold(c.name) == wanted and c.derived is None), None)


def _options(stream: Stream) -> dict[str, str]:
    return {name.lower(): value for name, value in option_values(stream.storage)} if stream.storage is not None else {}
