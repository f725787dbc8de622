"""The shapes: what each asks, as Penstock reads it and as Spark's guide has it written, and what is aimed at.

Spark has no streaming NOT EXISTS, so it gets the outer join whose other side is missing. Of the event times of a join
that another join or a window follows, Spark takes one; the other goes along as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.packets.sizes import FILES_A_BATCH
from benchmarks.shapes.data import COLUMNS, Size

from penstock.spark.kafka import FETCHED

PAIR = ("orders", "payments")
ON = "o.id = p.order_id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR"
BOTH = "o.id, o.customer, o.amount, o.kind, p.method, p.paid, p.fee"
LATENESS = "1 minute"


@dataclass(frozen=True)
class Shape:
    """One question, and at least how many times Spark's default store its rate is to be."""

    name: str
    text: str
    spark_text: str
    aim: float
    streams: tuple[str, ...] = PAIR
    form: str = "parquet"
    small: bool = False
    """Whether batches are small and their seconds count: then at most 1 / aim of Spark's."""
    large: bool = False
    """Whether batches are four times as large."""

    def options(self, data: Path, stream: str, size: Size, broker: str | None) -> dict[str, str]:
        """How Spark reads a stream: the same for both sides."""
        if broker is None:
            return {"path": str(data / stream), "maxFilesPerTrigger": str(FILES_A_BATCH)}
        a_batch = size.rows // len(self.streams) // size.batches
        return {
            "kafka.bootstrap.servers": broker,
            "subscribe": stream,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(a_batch),
            # Penstock's own, where nobody says: Spark is to fetch no less well.
            **FETCHED,
        }

    def script(self, data: Path, out: Path, size: Size, broker: str | None = None) -> str:
        """For `penstock run`: watermarks, and nothing else is declared."""
        return self.script_over({name: self.options(data, name, size, broker) for name in self.streams}, out)

    def script_over(self, sources: Mapping[str, Mapping[str, str]], out: Path) -> str:
        """The same, each stream read as its options say."""
        parts = [
            f"CREATE STREAM {name} (\n"
            + ", ".join(f"{column} {kind}" for column, kind in COLUMNS[name].items())
            + f",\n  EVENT TIME ts, ORDERED BY ts WITHIN {LATENESS.upper()}\n) USING {self.form} OPTIONS ("
            + ", ".join(f"'{key}' '{value}'" for key, value in options.items())
            + ");\n"
            for name, options in sources.items()
        ]
        parts.append(f"CREATE SINK out USING parquet OPTIONS (path '{out}');\n\nINSERT INTO out\n{self.text};\n")
        return "\n".join(parts)


_INNER = f"SELECT {BOTH} FROM orders AS o JOIN payments AS p ON {ON}"
_LEFT = f"SELECT {BOTH} FROM orders AS o LEFT JOIN payments AS p ON {ON}"
_JOINED = f"SELECT p.ts AS ts, o.kind AS kind, p.fee AS fee FROM orders AS o JOIN payments AS p ON {ON}"
_COUNTED = (
    "SELECT window(p.ts, '10 minutes').end AS until, o.kind, count(*) AS n, sum(p.fee) AS fees "
    f"FROM orders AS o JOIN payments AS p ON {ON} GROUP BY window(p.ts, '10 minutes'), o.kind",
    "SELECT window(ts, '10 minutes').end AS until, kind, count(*) AS n, sum(fee) AS fees "
    f"FROM ({_JOINED}) GROUP BY window(ts, '10 minutes'), kind",
)
_ORDER = "o.id, o.customer, o.amount"
_PAID = f"SELECT {_ORDER} FROM orders AS o WHERE EXISTS (SELECT 1 FROM payments AS p WHERE {ON})"
_VISITED = "v.customer = o.customer AND v.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR"
_THREE = "o.id, o.amount, p.method, p.paid, v.page"

SHAPES = {
    shape.name: shape
    for shape in (
        Shape("inner", _INNER, _INNER, 4),
        Shape("left", _LEFT, _LEFT, 4),
        Shape("windowed", *_COUNTED, 4),
        Shape("json", _INNER, _INNER, 2, form="json"),
        Shape("kafka", _INNER, _INNER, 2, form="kafka"),
        Shape(
            "hypercube",
            f"SELECT {_THREE} FROM orders AS o JOIN payments AS p ON {ON} JOIN visits AS v ON {_VISITED}",
            "SELECT j.id, j.amount, j.method, j.paid, v.page "
            f"FROM (SELECT {_ORDER}, o.ts, p.method, p.paid FROM orders AS o JOIN payments AS p ON {ON}) "
            f"AS j JOIN visits AS v ON {_VISITED.replace('o.', 'j.')}",
            5,
            ("orders", "payments", "visits"),
        ),
        Shape(
            "exists",
            _PAID,
            f"SELECT {_ORDER} FROM orders AS o LEFT SEMI JOIN payments AS p ON {ON}",
            4,
        ),
        Shape(
            "not-exists",
            _PAID.replace("WHERE EXISTS", "WHERE NOT EXISTS"),
            f"SELECT {_ORDER} FROM orders AS o LEFT JOIN payments AS p ON {ON} WHERE p.order_id IS NULL",
            4,
        ),
        Shape("latency", _INNER, _INNER, 1 / 0.6, small=True),
        Shape("inner-large", _INNER, _INNER, 6, large=True),
        Shape("left-large", _LEFT, _LEFT, 6, large=True),
        Shape("windowed-large", *_COUNTED, 6, large=True),
    )
}
"""By name, in the order in which they run."""
