"""Spark's types, as far as the analyses must tell them apart."""

from __future__ import annotations

from enum import StrEnum

from penstock.records import record


class Kind(StrEnum):
    """The family of a type; values are Spark's names."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    TIME = "TIME"
    INTERVAL = "INTERVAL"
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"
    VARIANT = "VARIANT"


TYPE_NAMES = (*(kind.value for kind in Kind), "VARCHAR", "CHAR")
"""What a type may be called."""

_INTEGERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT})
_INSTANTS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_UNORDERED = frozenset({Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.VARIANT, Kind.INTERVAL})


@record
class DataType:
    """A Spark type: its family, its full text such as `DECIMAL(10,2)`, and what the text says."""

    kind: Kind
    text: str
    precision: int | None = None
    """The digits of a DECIMAL."""
    scale: int | None = None
    """Those of them after its point."""
    length: int | None = None
    """The characters of a CHAR(n) or VARCHAR(n), at most."""
    is_padded: bool = False
    """Whether it is a CHAR(n), of which values that differ in blanks at the end are equal."""
    is_collated: bool = False
    """Whether a collation may call different texts equal."""

    def __post_init__(self) -> None:
        if (self.kind is Kind.DECIMAL) != (self.precision is not None and self.scale is not None):
            raise ValueError(f"{self.text}: a DECIMAL, and nothing else, has a precision and a scale")
        if self.kind is not Kind.STRING and (self.length is not None or self.is_padded or self.is_collated):
            raise ValueError(f"{self.text}: only texts have a length or a collation")

    @classmethod
    def of(cls, kind: Kind) -> DataType:
        """The type of a family without parameters."""
        return cls.decimal(10, 0) if kind is Kind.DECIMAL else cls(kind, kind.value)

    @classmethod
    def decimal(cls, precision: int, scale: int) -> DataType:
        """`DECIMAL(precision,scale)`."""
        return cls(Kind.DECIMAL, f"DECIMAL({precision},{scale})", precision, scale)

    def __str__(self) -> str:
        return self.text

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers that Spark compares freely with each other."""
        return self.kind in _INTEGERS

    @property
    def is_number(self) -> bool:
        """Whether values are numbers of any kind."""
        return self.is_integer or self.kind in (Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)

    @property
    def is_instant(self) -> bool:
        """Whether values are points of the calendar, so that spans are durations."""
        return self.kind in _INSTANTS

    @property
    def is_clock(self) -> bool:
        """Whether a column of this type may be an event time."""
        return self.is_instant or self.is_integer

    @property
    def is_key(self) -> bool:
        """Whether values can be compared at all, and so can join."""
        return self.kind not in _UNORDERED

    def compares_with(self, other: DataType) -> bool:
        """Integer types compare freely; other types only with themselves. VARCHAR and CHAR are strings."""
        if not (self.is_key and other.is_key):
            return False
        if self.is_integer and other.is_integer:
            return True
        if self.kind is Kind.STRING and other.kind is Kind.STRING:
            return True
        return self == other


def digits_of(text: str) -> tuple[int, int] | None:
    """The precision and the scale of a DECIMAL, by its text, ours or Spark's own; None for any other type."""
    head, _, sizes = text.partition("(")
    if head.upper() != Kind.DECIMAL:
        return None
    precision, _, scale = sizes.rstrip(")").partition(",")
    return int(precision), int(scale)
