"""The syntax tree: what stands in a script, each part with its place, before any name is resolved.

Expressions are sqlglot's; everything else is ours. A stretch of tokens remembers the user's own text, so that what only
Spark understands is handed to Spark as it was written.
"""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from enum import StrEnum

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.model.clauses import RangeWindow, RowsWindow
from penstock.model.schemes import Policy
from penstock.model.spans import Span, Window, Within
from penstock.model.stream import MalformedPolicy
from penstock.records import record


@record
class Stretch:
    """`source[start:end]`."""

    start: int
    end: int


@record
class Name:
    """An identifier, without its backticks."""

    text: str
    at: Stretch


@record
class Code:
    """An expression: sqlglot's tree, and the tokens it was read from."""

    node: exp.Expr
    tokens: tuple[Token, ...]
    at: Stretch


@record
class ViolationClause:
    """`ON VIOLATION policy [INTO sink]`."""

    policy: Policy
    into: Name | None


@record
class MalformedClause:
    """`ON MALFORMED policy [INTO sink]`."""

    policy: MalformedPolicy
    into: Name | None
    at: Stretch


@record
class ColumnDefinition:
    """`name TYPE [AS (expression)]`, or `name VIRTUAL`."""

    name: Name
    type: TypeText | None
    derived: Code | None
    at: Stretch


@record
class TypeText:
    """A type: sqlglot's reading, and its text."""

    node: exp.DataType
    text: str
    at: Stretch


@record
class BrokenColumn:
    """A column whose definition cannot be read; its name is known, so that its uses are not reported as well."""

    name: Name


@record
class EventTime:
    """`EVENT TIME column [IDLE AFTER d]`."""

    column: Name
    idle: Span | None
    idle_at: Stretch | None
    at: Stretch


@record
class PartsBy:
    """`PARTS BY column`."""

    column: Name
    at: Stretch


@record
class ArrivesBy:
    """`ARRIVES BY column`."""

    column: Name
    violation: ViolationClause | None
    at: Stretch


@record
class Constraint:
    """Any other table constraint; `form` is the keyword it opens with, and the rest is what that form has."""

    form: str
    at: Stretch
    columns: tuple[Name, ...] = ()
    other: Name | None = None
    other_columns: tuple[Name, ...] = ()
    within: Within | None = None
    window: Window | None = None
    condition: Code | None = None
    lifespan: Span | None = None
    violation: ViolationClause | None = None


Element = ColumnDefinition | BrokenColumn | EventTime | ArrivesBy | PartsBy | MalformedClause | Constraint


@record
class StorageClause:
    """`USING format OPTIONS (key 'value', …)`."""

    format: str
    options: tuple[tuple[str, str], ...]


@record
class CreateStream:
    """`CREATE STREAM`."""

    name: Name
    elements: tuple[Element, ...]
    storage: StorageClause | None
    where: Code | None
    at: Stretch
    is_table: bool = False
    """Whether it is `CREATE TABLE`, which is written alike."""


@record
class CreateSink:
    """`CREATE SINK`."""

    name: Name
    key: tuple[Name, ...]
    """By which rows are replaced; none if they are only added."""
    storage: StorageClause
    at: Stretch


@record
class FromItem:
    """`stream [window] [[AS] alias]`."""

    stream: Name
    window: RowsWindow | RangeWindow | None
    alias: Name | None
    at: Stretch


@record
class FromQuery:
    """`(SELECT …) [window] [[AS] alias [(a, b)]]`."""

    query: QueryText
    window: RowsWindow | RangeWindow | None
    alias: Name | None
    columns: tuple[Name, ...]
    at: Stretch


class WrittenJoin(StrEnum):
    """How two parts of FROM are joined, as it is written."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    SEMI = "SEMI"
    ANTI = "ANTI"


@record
class FromJoin:
    """`left KIND JOIN right ON condition`; CROSS JOIN and a comma have no condition."""

    kind: WrittenJoin
    left: FromPart
    right: FromPart
    on: Code | None
    at: Stretch
    """The words between the two."""
    using: tuple[Name, ...] = ()
    natural: bool = False


ELEMENT_FUNCTIONS = ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer")


@record
class FromElements:
    """`part LATERAL VIEW [OUTER] explode(…) t AS x`: each row of the part once for each element."""

    rows: FromPart
    function: str
    """In lower case."""
    argument: Code
    is_outer: bool
    alias: Name | None
    columns: tuple[Name, ...]
    at: Stretch


FromPart = FromItem | FromQuery | FromJoin | FromElements


@record
class OrderItem:
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`."""

    code: Code
    descending: bool
    nulls_first: bool


@record
class AggregateCall:
    """`name([DISTINCT] x) [IGNORE NULLS] [WITHIN GROUP (ORDER BY …)] [FILTER (WHERE …)]`; `*` is no argument."""

    name: str
    """In lower case."""
    arguments: tuple[Code, ...]
    is_star: bool
    distinct: bool
    ignores_nulls: bool
    where: Code | None
    at: Stretch
    ordering: tuple[OrderItem, ...] = ()


@record
class RowNumber:
    """`ROW_NUMBER() OVER ([PARTITION BY …] ORDER BY …)`."""

    partition: tuple[Code, ...]
    ordering: tuple[OrderItem, ...]
    at: Stretch


@record
class OverAggregates:
    """An expression over aggregates and keys: what stands around them, with a name in the place of each, and these."""

    around: Code
    calls: tuple[AggregateCall | Code, ...]
    """Keys as they are written."""


@record
class SelectItem:
    """One item of SELECT: `*`, `x.*`, or an expression with its name."""

    code: Code | None
    star_of: Name | None
    alias: Name | None
    at: Stretch
    several: tuple[Name, ...] = ()
    """`posexplode(x) AS (a, b)`: the names of the columns that one function gives."""
    over: OverAggregates | None = None
    """Where the expression holds aggregates, or more than a key of the groups."""
    number: RowNumber | None = None
    """Where it is the number of a row in its partition."""
    without: tuple[Name, ...] = ()
    """`* EXCEPT (a, b)`: the columns that are left out."""
    is_named_by_place: bool = False  # Its column is given a name from without.


@record
class Hint:
    """One hint; `arguments` is what its form has."""

    name: str
    at: Stretch
    number: Decimal | None = None
    words: tuple[str, ...] = ()
    text: str | None = None
    code: Code | None = None
    numbers: tuple[Decimal, ...] = field(default=())


@record
class Select:
    """One SELECT."""

    hints: tuple[Hint, ...]
    distinct: bool
    items: tuple[SelectItem, ...]
    source: FromPart
    where: Code | None
    group_by: tuple[Code, ...]
    at: Stretch
    groups_by_all: bool = False
    """GROUP BY ALL: by every item that holds no aggregate."""
    having: OverAggregates | None = None
    words: frozenset[str] = field(default=frozenset(), compare=False)
    """All that stands in it but strings, folded: the names that it may name."""
    grouping_sets: tuple[tuple[int, ...], ...] = ()
    """The sets of keys that are grouped by, by their numbers, where it is not all of them at once."""


@record
class SetOperation:
    """`left UNION [ALL] right`, INTERSECT, EXCEPT."""

    kind: str
    """UNION, INTERSECT or EXCEPT."""
    keeps_all: bool
    left: QueryBody
    right: QueryBody
    at: Stretch
    """The words between the two."""


@record
class CommonTable:
    """`name [(a, b)] AS (query)`, of a WITH."""

    name: Name
    columns: tuple[Name, ...]
    query: QueryText


@record
class QueryText:
    """A query: what WITH names for it, and SELECTs."""

    common: tuple[CommonTable, ...]
    body: QueryBody
    at: Stretch


@record
class Values:
    """`VALUES (1, 'a'), (2, 'b')`: rows as they are written."""

    rows: tuple[tuple[Code, ...], ...]
    at: Stretch


QueryBody = Select | SetOperation | QueryText | Values


@record
class CreateView:
    """`CREATE VIEW name [(a, b, declarations)] AS query`."""

    name: Name
    columns: tuple[Name, ...]
    elements: tuple[Element, ...]
    query: QueryText
    at: Stretch


@record
class Insert:
    """`INSERT INTO sink query`, or a bare query, whose sink is None."""

    sink: Name | None
    query: QueryText
    at: Stretch


@record
class BrokenDeclaration:
    """A declaration that cannot be read; its name is known, so that its uses are not reported as well."""

    kind: str
    """STREAM, VIEW or SINK."""
    name: str


Statement = CreateStream | CreateView | CreateSink | Insert | BrokenDeclaration
