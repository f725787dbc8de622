"""Spark's type names, read by sqlglot, as the model's types."""

from __future__ import annotations

from sqlglot import exp

from penstock.model.types import DataType, Kind
from penstock.sql.tree import TypeText

_KINDS = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.TINYINT: Kind.TINYINT,
    exp.DType.SMALLINT: Kind.SMALLINT,
    exp.DType.INT: Kind.INT,
    exp.DType.BIGINT: Kind.BIGINT,
    exp.DType.FLOAT: Kind.FLOAT,
    exp.DType.DOUBLE: Kind.DOUBLE,
    exp.DType.DECIMAL: Kind.DECIMAL,
    exp.DType.TEXT: Kind.STRING,
    exp.DType.VARCHAR: Kind.STRING,
    exp.DType.CHAR: Kind.STRING,
    exp.DType.BINARY: Kind.BINARY,
    exp.DType.DATE: Kind.DATE,
    exp.DType.TIMESTAMP: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: Kind.TIMESTAMP_NTZ,
    exp.DType.TIME: Kind.TIME,
    exp.DType.INTERVAL: Kind.INTERVAL,
    exp.DType.ARRAY: Kind.ARRAY,
    exp.DType.LIST: Kind.ARRAY,
    exp.DType.MAP: Kind.MAP,
    exp.DType.STRUCT: Kind.STRUCT,
    exp.DType.VARIANT: Kind.VARIANT,
}


def data_type(written: TypeText) -> DataType | None:
    """The type, or None if Spark has none of that name. Plain types have one spelling; others keep the user's."""
    this = written.node.this
    # INTERVAL DAY TO SECOND is read as an interval inside the type.
    kind = Kind.INTERVAL if isinstance(this, exp.Interval) else _KINDS.get(this)
    if kind is None:
        return None
    if kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT):
        # Spark's ARRAY has one type inside, its MAP two, its STRUCT any number.
        inside = len(written.node.expressions)
        return DataType(kind, written.text) if inside == {Kind.ARRAY: 1, Kind.MAP: 2}.get(kind, inside) else None
    if kind is Kind.INTERVAL:
        return DataType(kind, written.text)
    head, parenthesis, rest = written.text.partition("(")
    if kind is Kind.DECIMAL:
        sizes = [size.strip() for size in rest.rstrip(") ").split(",")] if parenthesis else ["10"]
        if not all(size.isdecimal() for size in sizes) or len(sizes) > 2:
            return None
        precision, scale = int(sizes[0]), int(sizes[1]) if len(sizes) > 1 else 0
        return DataType.decimal(precision, scale) if 0 < precision <= 38 and scale <= precision else None
    if kind is Kind.STRING and head.strip().upper() in ("VARCHAR", "CHAR", "CHARACTER"):
        length = rest.rstrip(") ").strip()
        if not length.isdecimal():
            return None
        name = head.strip().upper()
        return DataType(kind, f"{name}({length})", length=int(length), is_padded=name != "VARCHAR")
    if parenthesis:
        return None
    return DataType.of(kind)
