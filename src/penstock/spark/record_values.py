"""The values of Kafka's records: JSON or Avro, read as the declared columns and written from those of an answer.

A value of Avro is bytes that only the schema of whoever wrote them makes sense of (`value.schema`, or a file of it:
`value.schemaFile`), and nothing in them says where they end. So what is read is the value followed by a mark, by a
record of that schema followed by a field for the mark: Avro lays the fields of a record side by side. If the mark is
found in its field, all bytes of the value were read and no other; else the value does not read as declared, and
is malformed, as a text is that is no JSON. `value.schemaId` is of the schema registries that put a zero byte and the
number of the schema before a value: a value with another number is malformed.

Not decided: whether bytes that another schema wrote happen to read by this one, to the last.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import StructType

from penstock.errors import DataError, UsageError
from penstock.model.names import fold, quoted
from penstock.model.stream import Column as Declared
from penstock.model.stream import Storage, Stream
from penstock.spark.connectors import require_connector
from penstock.spark.json_lines import is_one_value
from penstock.spark.malformed import reading_columns, reading_options, record_column
from penstock.spark.option_values import option_values
from penstock.spark.types import spark_type

VALUE = "value."
"""How the options begin that are about values."""
_FORMAT, _SCHEMA, _FILE, _ID = "value.format", "value.schema", "value.schemafile", "value.schemaid"
_JSON, _AVRO = "json", "avro"
_OURS = (_FORMAT, _SCHEMA, _FILE, _ID)
_MARK = "70656e73746f636b"
"""Eight bytes that no value ends in by chance."""
_REFUSED = {"value.avroschema": "columns are chosen by their names", "value.mode": "ON MALFORMED says what is done"}


def read_values(records: DataFrame, stream: Stream, fields: list[Declared]) -> Column:
    """The value of each record as a struct of these columns, and the text of one that does not read as declared."""
    assert stream.storage is not None
    form = _form(stream.storage, f"stream {stream.name}")
    if form == _AVRO:
        return _of_avro(records, stream, fields)
    columns = [f"{quoted(c.name)} {spark_type(str(c.type))}" for c in fields]
    options = _spark_options(stream.storage) | reading_options(stream)
    text = F.col("value").cast("string")
    return F.from_json(text, ", ".join([*columns, *reading_columns(stream)]), options)


def partly_read(stream: Stream) -> Column:
    """The text of a record of which Spark's reader of JSON reads a part only, or nothing; NULL of every other one.

    Of nothing but blanks it makes a row of NULLs, as of a record without a value; but a value is there. Bytes that are
    no UTF-8 it replaces, all by the same character: texts that differ would be equal.
    """
    assert stream.storage is not None
    if _form(stream.storage, f"stream {stream.name}") == _AVRO:
        return F.lit(None).cast("string")
    text = F.col("value").cast("string")
    # The first is asked of every record, and is true of most.
    is_blank = ~F.startswith(text, F.lit("{")) & F.rlike(text, F.lit(r"^\s*$"))
    return F.when(is_blank | ~F.is_valid_utf8(text) | ~is_one_value(text, _spark_options(stream.storage)), text)


def written_values(rows: DataFrame, storage: Storage, what: str) -> Column:
    """All columns of a row as one value."""
    whole = F.struct(*(F.col(quoted(name)) for name in rows.columns))
    if _form(storage, what) == _JSON:
        return F.to_json(whole, {"ignoreNullFields": "false", **_spark_options(storage)})
    require_connector(rows.sparkSession, what, _AVRO)
    schema = _schema(storage, what)
    value = to_avro(whole) if schema is None else to_avro(whole, json.dumps(schema))
    number = _number(storage, what)
    return value if number is None else F.concat(_before(number), value)


def are_plain_json(storage: Storage) -> bool:
    """Whether values are JSON, and no option says how it is read."""
    own = {name for name in _given(storage) if name.startswith(VALUE)}
    return own <= {_FORMAT} and _form(storage, "values") == _JSON


def _form(storage: Storage, what: str) -> str:
    form = _given(storage).get(_FORMAT, _JSON).lower()
    if form not in (_JSON, _AVRO):
        raise UsageError(
            f"{what}: {_FORMAT} {form!r} is not read or written",
            detail="there are 'json' and 'avro'",
            hint="for another form, read the records with spark.readStream and bind the frame: docs/kafka.md",
        )
    return form


def _given(storage: Storage) -> dict[str, str]:
    return {name.lower(): value for name, value in option_values(storage)}


def _spark_options(storage: Storage) -> dict[str, str]:
    """What Spark's reader or writer of values is told."""
    own = {n: v for n, v in option_values(storage) if n.lower().startswith(VALUE) and n.lower() not in _OURS}
    return {name[len(VALUE) :]: value for name, value in own.items()}


def _of_avro(records: DataFrame, stream: Stream, fields: list[Declared]) -> Column:
    assert stream.storage is not None
    what = f"stream {stream.name}"
    for name in _given(stream.storage):
        if name in _REFUSED:
            raise UsageError(f"{what}: {name} is not taken: {_REFUSED[name]}", hint="leave it out")
    require_connector(records.sparkSession, what, _AVRO)
    schema, number = _schema(stream.storage, what), _number(stream.storage, what)
    if schema is None:
        raise UsageError(
            f"{what}: values of Avro are read by the schema that they were written with, and there is none",
            hint="add 'value.schema' '{\"type\": \"record\", …}' or 'value.schemaFile' 'FILE.avsc'",
        )
    mark = {"type": "fixed", "name": "penstock_mark", "size": len(_MARK) // 2}
    both = [{"name": "row", "type": schema}, {"name": "mark", "type": mark}]
    marked = json.dumps({"type": "record", "name": "penstock_marked", "fields": both})
    body = F.col("value") if number is None else _behind(number)
    options = _spark_options(stream.storage) | {"mode": "PERMISSIVE"}
    read = from_avro(F.concat(body, F.unhex(F.lit(_MARK))), marked, options)
    _require_fields(records, stream, fields, read)
    row = F.when(read["mark"] == F.unhex(F.lit(_MARK)), read["row"])
    shown = [row[c.name].cast(spark_type(str(c.type))).alias(c.name) for c in fields]
    malformed = F.when(F.col("value").isNotNull() & row.isNull(), F.hex("value")).alias(record_column(stream))
    return F.struct(*(c for c, of in zip(shown, fields, strict=True) if of.name != record_column(stream)), malformed)


def _require_fields(records: DataFrame, stream: Stream, fields: list[Declared], read: Column) -> None:
    """Raise DataError where a declared column is not in the schema, or of a type that it cannot be without loss."""
    kind: Any = records.select(read["row"].alias("row")).schema["row"].dataType
    if not isinstance(kind, StructType):
        raise DataError(f"stream {stream.name}: value.schema is of no record", hint="columns are fields of a record")
    found = {fold(field.name): field for field in kind.fields}
    jvm: Any = records.sparkSession._jvm
    types = jvm.org.apache.spark.sql.types.DataType
    for column in fields:
        if column.name == record_column(stream):
            continue
        field = found.get(fold(column.name))
        if field is None:
            raise DataError(
                f"stream {stream.name} declares column {quoted(column.name)}, which is not in value.schema",
                detail=f"there are: {', '.join(kind.names)}",
                hint="spell it as the schema does, or leave it out",
            )
        there, wanted = (types.fromDDL(text) for text in (field.dataType.simpleString(), spark_type(str(column.type))))
        if not jvm.org.apache.spark.sql.catalyst.expressions.Cast.canUpCast(there, wanted):
            raise DataError(
                f"stream {stream.name} declares {quoted(column.name)} {column.type}, and value.schema has it as "
                f"{field.dataType.simpleString().upper()}",
                hint="declare the type that it has, and derive another of it: name TYPE AS (expression)",
            )


def _schema(storage: Storage, what: str) -> Any | None:
    given = _given(storage)
    text = given.get(_SCHEMA)
    if text is None and _FILE in given:
        try:
            text = Path(given[_FILE]).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{what}: cannot read value.schemaFile: {error.strerror}: {given[_FILE]}") from None
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{what}: value.schema is no JSON: {error}", hint="a schema of Avro is JSON") from None


def _number(storage: Storage, what: str) -> int | None:
    text = _given(storage).get(_ID)
    if text is None:
        return None
    if not text.isdigit() or int(text) >= 1 << 31:
        raise UsageError(f"{what}: value.schemaId is a number that a registry gave to a schema, not {text!r}")
    return int(text)


def _before(number: int) -> Column:
    """What a registry's clients put before a value."""
    return F.unhex(F.lit(f"00{number:08x}"))


def _behind(number: int) -> Column:
    """The value without it; NULL where something else stands there."""
    value = F.col("value")
    return F.when(F.substring(value, 1, 5) == _before(number), F.expr("substring(value, 6)"))
