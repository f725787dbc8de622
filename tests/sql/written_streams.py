"""Random CREATE STREAM and CREATE SINK, valid by construction, as lists of tokens.

Everything is drawn from a `random.Random`, so that hypothesis can hand in its own and shrink what fails. Names are kept
beside what they stand for: a query written later knows each column's type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

Tokens = list[str]

# None is an alias of `written_queries.py`: within EXISTS a struct of that name would hide the stream, as in Spark.
_PLAIN_NAMES = ["a", "b", "k", "id", "price", "Seller", "x_1", "event", "time", "row", "window", "value", "day"]
_QUOTED_NAMES = ["`two words`", "`select`", "`tick``ed`", "`Größe`", "`1st`", "`from`", "`stream`", "`a.b`", "`-- no`"]
_STREAM_NAMES = ["auctions", "bids", "Packets", "syn", "fin", "`order`", "`my stream`", "clicks", "range", "Δ"]

_TYPES = {
    "integer": ["BIGINT", "INT", "SMALLINT", "TINYINT", "LONG", "INTEGER", "SHORT", "BYTE"],
    "string": ["STRING", "VARCHAR(20)", "CHAR(3)"],
    "decimal": ["DECIMAL(10,2)"],
    "double": ["DOUBLE"],
    "boolean": ["BOOLEAN"],
    "date": ["DATE"],
    "timestamp": ["TIMESTAMP"],
    "binary": ["BINARY"],
    "array": ["ARRAY<INT>", "ARRAY<STRUCT<x: INT>>"],
    "struct": ["STRUCT<x: INT, y: STRING>"],
    "map": ["MAP<STRING, BIGINT>"],
}
_CLOCKS = ["integer", "date", "timestamp"]
ORDERED_KINDS = ["integer", "string", "decimal", "double", "boolean", "date", "timestamp", "binary"]
_UNITS = ["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY"]
_POLICIES = [["FAIL"], ["ADAPT"], ["QUARANTINE"], ["TRUST"], ["RECOVER"]]
_FORMATS = ["parquet", "csv", "json", "rate", "kafka", "org.apache.spark.Some"]
STRINGS = ["'x'", "''", r"'it\'s'", r"'back\\slash'", "'semi;colon'", "'-- no'", "'ü€'", "'100%'", '"d"']


@dataclass(frozen=True)
class Col:
    """A column as it is declared; `kind` is its family, empty for a VIRTUAL one."""

    name: str
    kind: str


@dataclass
class Written:
    """A stream as it will be declared."""

    name: str
    columns: list[Col] = field(default_factory=list)
    event_time: Col | None = None

    @property
    def carried(self) -> list[Col]:
        return [c for c in self.columns if c.kind]

    def of_kind(self, *kinds: str) -> list[Col]:
        return [c for c in self.columns if c.kind in kinds]


def maybe(random: Random, chance: float) -> bool:
    """True that often."""
    return random.random() < chance


def other_case(random: Random, name: str) -> str:
    """A name as a careless user repeats it: case does not matter."""
    if "ß" in name or not maybe(random, 0.15):
        return name
    return random.choice([name.upper(), name.lower()])


def listed(names: list[Tokens]) -> Tokens:
    """`( a , b )`."""
    return ["(", *separated(names), ")"]


def separated(parts: list[Tokens], comma: str = ",") -> Tokens:
    """The parts with commas between."""
    return [token for i, part in enumerate(parts) for token in ([comma] if i else []) + part]


def duration(random: Random, clock: str) -> Tokens:
    """A length above 0 on a clock of that kind."""
    number = str(random.choice([1, 2, 5, 90, 1000]))
    if clock == "integer":
        return [number]
    if maybe(random, 0.1):
        return ["1.5", random.choice(["SECONDS", "HOURS"])]
    unit = random.choice(_UNITS)
    return [number, unit if maybe(random, 0.3) else unit + "S"]


def window(random: Random, clock: str | None) -> Tokens:
    """`WINDOW [x, y]`; without a clock it can only be unbounded."""
    if clock is None:
        return ["WINDOW", "[", "*", ",", "*", "]"]
    low = random.choice([["*"], ["0"], ["-", *duration(random, clock)]])
    high = random.choice([["*"], ["0"], duration(random, clock)])
    return ["WINDOW", "[", *low, ",", *high, "]"]


def constant(random: Random, kind: str) -> Tokens | None:
    """A literal of that kind, if there is a plain one."""
    match kind:
        case "integer":
            return random.choice([["0"], ["7"], ["-", "3"], ["1000000"], ["12L"], ["99999999999999999999"]])
        case "decimal":
            return random.choice([["0.5"], ["12.25"], ["-", "1.0"], ["3"], ["1E3"]])
        case "double":
            return random.choice([["1.5"], ["2D"], ["1e-3"]])
        case "string":
            return [random.choice(STRINGS)]
        case "boolean":
            return [random.choice(["TRUE", "FALSE"])]
        case "date":
            return random.choice([["DATE", "'2024-02-29'"], ["'2024-01-01'"]])
        case "timestamp":
            return random.choice([["TIMESTAMP", "'2024-01-01 10:00:00'"], ["'2024-01-01 00:00:00.123'"]])
        case _:
            return None


def condition(random: Random, columns: list[Col], named: Callable[[Col], Tokens]) -> Tokens:
    """A condition on the columns of one stream; `named` spells a column."""
    column = random.choice(columns)
    name, value = named(column), constant(random, column.kind)
    op = random.choice(["=", "<", "<=", ">", ">="])
    forms: list[Tokens] = [
        [*name, "IS", "NOT", "NULL"],
        ["(", *name, "IS", "NULL", "OR", *named(random.choice(columns)), "IS", "NOT", "NULL", ")"],
        ["coalesce", "(", *name, ",", *named(column), ")", "IS", "NOT", "NULL"],
    ]
    if value is not None:
        other = constant(random, column.kind) or value
        forms += [
            [*name, op, *value],
            [*value, op, *name],
            [*name, "BETWEEN", *value, "AND", *other],
            [*name, "IN", "(", *value, ",", *other, ")"],
            [*name, "<>", *value],
            ["(", *name, op, *value, ")"],
            ["NOT", "(", *name, op, *value, ")"],
            ["(", *name, op, *value, "OR", *name, op, *other, ")"],
            ["CASE", "WHEN", *name, op, *value, "THEN", "TRUE", "ELSE", "FALSE", "END"],
        ]
    if column.kind == "boolean":
        forms += [name, ["NOT", *name]]
    if column.kind == "string":
        forms += [[*name, "LIKE", "'a%'"], ["length", "(", *name, ")", op, "3"]]
    if column.kind == "integer":
        forms += [[*name, "+", "1", op, "3"], [*name, "%", "2", "=", "0"], ["-", *name, "<", "5"]]
    if column.kind == "struct":
        forms += [[*name, ".", "x", op, "3"]]
    if column.kind == "array":
        forms += [[*name, "[", "0", "]", "IS", "NOT", "NULL"], ["size", "(", *name, ")", ">", "1"]]
    twins = [c for c in columns if c.kind == column.kind and c.kind in ("boolean", "date", "timestamp", "double")]
    forms += [[*name, op, *named(twin)] for twin in twins]
    return random.choice(forms)


def conjunction(random: Random, columns: list[Col], named: Callable[[Col], Tokens], most: int = 3) -> Tokens:
    """One condition or several, all to hold."""
    return separated([condition(random, columns, named) for _ in range(random.randint(1, most))], "AND")


class StreamWriter:
    """Writes the declarations of a script: first which columns there are, then each stream in full."""

    def __init__(self, random: Random, sinks: list[str]) -> None:
        self.random = random
        self.sinks = sinks
        self.clock = random.choice(_CLOCKS)
        self.has_virtual = maybe(random, 0.3)
        self.streams = [self._columns(name) for name in random.sample(_STREAM_NAMES, random.randint(1, 4))]

    def _columns(self, name: str) -> Written:
        random = self.random
        names = random.sample(_PLAIN_NAMES + _QUOTED_NAMES, random.randint(1, 5))
        columns = [Col(n, random.choice(list(_TYPES))) for n in names]
        columns.insert(0, Col("key", random.choice(["integer", "integer", "string"])))
        written = Written(name, columns)
        if maybe(random, 0.7):
            written.event_time = Col("ts", self.clock)
            columns.append(written.event_time)
        if self.has_virtual:
            columns.append(Col("conn", ""))
        return written

    def statement(self, stream: Written) -> Tokens:
        """CREATE STREAM."""
        random = self.random
        elements = [self._column(c, stream) for c in stream.columns]
        constraints: list[Tokens] = []
        if stream.event_time is not None:
            constraints.append(["EVENT", "TIME", self._ref(stream.event_time)])
        if maybe(random, 0.3):
            column = random.choice(stream.of_kind(*ORDERED_KINDS))
            constraints.append(["ARRIVES", "BY", self._ref(column), *self._violation()])
        if maybe(random, 0.2):
            constraints.append(["ON", "MALFORMED", *self._malformed()])
        constraints += self._schemes(stream)
        random.shuffle(constraints)
        text = ["CREATE", "STREAM", stream.name, *listed(elements + constraints)]
        if maybe(random, 0.5):
            text += self.storage()
        if maybe(random, 0.3):
            text += ["WHERE", *conjunction(random, stream.carried, lambda c: [self._ref(c)])]
        return text

    def storage(self) -> Tokens:
        """`USING format OPTIONS (…)`."""
        random = self.random
        text = ["USING", random.choice(_FORMATS)]
        if maybe(random, 0.5):
            options = [
                ["path", "'data/x'"],
                ["maxFilesPerTrigger", "3"],
                ["`odd key`", "=", "'v'"],
                ["'quoted.key'", "'it\\'s'"],
                ["header", "TRUE"],
                ["spark.x.y", "-1.5"],
            ]
            text += ["OPTIONS", *listed(random.sample(options, random.randint(1, 4)))]
        return text

    def _ref(self, column: Col) -> str:
        return other_case(self.random, column.name)

    def _column(self, column: Col, stream: Written) -> Tokens:
        if not column.kind:
            return [column.name, "VIRTUAL"]
        text = [column.name, self.random.choice(_TYPES[column.kind])]
        before = stream.columns[: stream.columns.index(column)]
        integers = [c for c in before if c.kind == "integer"]
        if integers and maybe(self.random, 0.25):
            source = self._ref(self.random.choice(integers))
            if column.kind == "integer":
                text += ["AS", "(", source, "+", "1", ")"]
            elif column.kind == "timestamp":
                text += ["AS", "(", "timestamp_millis", "(", source, ")", ")"]
            elif column.kind == "string":
                text += ["AS", "(", "concat", "(", source, ",", "'-'", ")", ")"]
        return text

    def _violation(self) -> Tokens:
        if not maybe(self.random, 0.3):
            return []
        if self.sinks and maybe(self.random, 0.3):
            return ["ON", "VIOLATION", "QUARANTINE", "INTO", other_case(self.random, self.random.choice(self.sinks))]
        return ["ON", "VIOLATION", *self.random.choice(_POLICIES)]

    def _malformed(self) -> Tokens:
        if self.sinks and maybe(self.random, 0.3):
            return ["QUARANTINE", "INTO", other_case(self.random, self.random.choice(self.sinks))]
        return [self.random.choice(["FAIL", "QUARANTINE", "NULL"])]

    def _schemes(self, stream: Written) -> list[Tokens]:
        random = self.random
        forms = {
            "PRIMARY KEY": self._primary_key,
            "ORDERED BY": self._ordered,
            "CLUSTERED BY": self._clustered,
            "FOLLOWS": self._follows,
            "FOREIGN KEY": self._foreign_key,
            "STREAM KEY": self._stream_key,
            "COOCCURS": self._cooccurs,
            "PUNCTUATED": self._punctuated,
            "CHECK": self._check,
        }
        made = [forms[form](stream) for form in random.sample(list(forms), random.randint(0, len(forms)))]
        return [scheme + self._violation() for scheme in made if scheme]

    def _within(self, clock: str | None) -> Tokens:
        choices: list[Tokens] = [[], ["WITHIN", "3", "ROWS"], ["WITHIN", "1", "ROW"], ["WITHIN", "AUTO"]]
        if clock is not None:
            choices += [["WITHIN", *duration(self.random, clock)], ["WITHIN", *duration(self.random, clock)]]
        return self.random.choice(choices)

    def _keys(self, stream: Written) -> list[str]:
        columns = [*stream.of_kind(*ORDERED_KINDS), *stream.of_kind("")]
        return [self._ref(c) for c in self.random.sample(columns, min(len(columns), self.random.randint(1, 2)))]

    def _primary_key(self, stream: Written) -> Tokens:
        return ["PRIMARY", "KEY", *listed([[name] for name in self._keys(stream)])]

    def _ordered(self, stream: Written) -> Tokens:
        column = self.random.choice(stream.of_kind(*ORDERED_KINDS))
        clock = column.kind if column.kind in _CLOCKS else None
        return ["ORDERED", "BY", self._ref(column), *self._within(clock)]

    def _clustered(self, stream: Written) -> Tokens:
        return ["CLUSTERED", "BY", self._ref(self.random.choice(stream.of_kind(*ORDERED_KINDS))), *self._within(None)]

    def _partner(self, stream: Written, *, virtual: bool) -> tuple[Written, Tokens, Tokens, str | None] | None:
        """Another stream, the paired columns on both sides, and the clock that the two share."""
        random = self.random
        other = random.choice(self.streams)
        pairs = [
            (mine, theirs)
            for mine in stream.columns
            for theirs in other.columns
            if mine.kind == theirs.kind and mine.kind in ("integer", "boolean", "date", "timestamp", "double")
        ]
        if virtual and self.has_virtual:
            pairs.append((Col("conn", ""), Col("conn", "")))
        if not pairs:
            return None
        mine, theirs = random.choice(pairs)
        clock = self.clock if stream.event_time is not None and other.event_time is not None else None
        return other, listed([[self._ref(mine)]]), listed([[self._ref(theirs)]]), clock

    def _follows(self, stream: Written) -> Tokens:
        partner = self._partner(stream, virtual=False)
        if partner is None:
            return []
        other, mine, theirs, clock = partner
        return ["FOLLOWS", other_case(self.random, other.name), *theirs, "ON", *mine, *self._within(clock)]

    def _foreign_key(self, stream: Written) -> Tokens:
        partner = self._partner(stream, virtual=True)
        if partner is None:
            return []
        other, mine, theirs, clock = partner
        end = window(self.random, clock) if maybe(self.random, 0.5) else []
        return ["FOREIGN", "KEY", *mine, "REFERENCES", other.name, *theirs, *end]

    def _stream_key(self, stream: Written) -> Tokens:
        if not self.has_virtual:
            return []
        other = self.random.choice(self.streams)
        clock = self.clock if stream.event_time is not None and other.event_time is not None else None
        end = window(self.random, clock) if maybe(self.random, 0.7) else []
        return ["STREAM", "KEY", "(", "conn", ")", "SPANS", other.name, *end]

    def _cooccurs(self, stream: Written) -> Tokens:
        partner = self._partner(stream, virtual=True)
        if partner is None:
            return []
        other, mine, theirs, clock = partner
        end = window(self.random, clock) if maybe(self.random, 0.7) else []
        return ["COOCCURS", *mine, "AND", other.name, *theirs, *end]

    def _punctuated(self, stream: Written) -> Tokens:
        random = self.random
        columns = random.sample(stream.carried, min(len(stream.carried), random.randint(1, 2)))
        when = conjunction(random, stream.carried, lambda c: [self._ref(c)], most=2)
        text = ["PUNCTUATED", "ON", *listed([[self._ref(c)] for c in columns]), "WHEN", *when]
        if stream.event_time is not None and maybe(random, 0.4):
            text += ["LIFESPAN", *duration(random, self.clock)]
        return text

    def _check(self, stream: Written) -> Tokens:
        return ["CHECK", "(", *conjunction(self.random, stream.carried, lambda c: [self._ref(c)]), ")"]


def sink_statement(writer: StreamWriter, name: str) -> Tokens:
    """CREATE SINK."""
    return ["CREATE", "SINK", name, *writer.storage()]
