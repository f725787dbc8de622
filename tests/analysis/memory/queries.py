"""Queries over small streams, read as the parts of the constant-memory test are given them."""

from __future__ import annotations

from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.compile import parse
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query

STREAMS = """CREATE STREAM s (a BIGINT, b BIGINT, t STRING, d DOUBLE{s});
CREATE STREAM r (a BIGINT, b BIGINT, t STRING{r});"""


def query(select: str, s: str = "", r: str = "") -> Query:
    """A query over s and r, with further declarations of each."""
    declared = STREAMS.replace("{s}", f", {s}" if s else "").replace("{r}", f", {r}" if r else "")
    return parse(f"{declared} {select};").queries[0]


def reading(select: str, s: str = "", r: str = "") -> MemoryReading:
    return MemoryReading(query(select, s, r))


def order(select: str, s: str = "", r: str = "") -> Order:
    return Order(reading(select, s, r))


def ref(text: str) -> ColumnRef:
    alias, _, column = text.partition(".")
    return ColumnRef(alias, column)
