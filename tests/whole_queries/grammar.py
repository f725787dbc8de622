"""Random queries over three streams, drawn from the whole language: joins of all kinds, conditions, queries in FROM, by
WITH and as views, IN and EXISTS, DISTINCT, groups by windows and sessions, blocks within blocks.

All columns are BIGINT, times too. A text is drawn once, with marks where Penstock and DuckDB differ, and is written for
either by `for_penstock` and `for_duckdb`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

STREAMS = ("a", "b", "c")
TABLES = ("t", "u")
"""Relations that are read whole: (k, v) without a time; drawn on request."""
COLUMNS = ("id", "k", "v", "ts")
LATE = 2
DECLARED = "\n".join(
    f"""CREATE STREAM {name} (id BIGINT, k BIGINT, v BIGINT, ts BIGINT,
  EVENT TIME ts, ORDERED BY ts WITHIN {LATE}, CHECK (ts IS NOT NULL));"""
    for name in STREAMS
)

_WINDOW = re.compile(r"\[\[(?P<time>[\w.]+)\|(?P<length>\d+)\|(?P<end>\w*)\]\]")
_EITHER = re.compile(r"⟦(?P<penstock>[^‖]*)‖(?P<duckdb>[^⟧]*)⟧")
"""What is written in one way for Penstock, and in another for DuckDB."""


@dataclass(frozen=True)
class Column:
    """A column that a part of a query has: its name, and what it is good for."""

    name: str
    role: str
    """key, value or time; a list can only be given out."""


@dataclass(frozen=True)
class Rows:
    """Something that may stand in FROM: its text, and its columns."""

    text: str
    columns: tuple[Column, ...]
    is_query: bool = False

    def of(self, role: str) -> list[str]:
        """The columns of a role."""
        return [column.name for column in self.columns if column.role == role]


@dataclass(frozen=True)
class Drawn:
    """A script: views, and a query."""

    views: tuple[tuple[str, str], ...]
    query: str

    @property
    def for_penstock(self) -> str:
        """As a script of streams and one query."""
        views = "".join(f"CREATE VIEW {name} AS {text};\n" for name, text in self.views)
        return f"{DECLARED}\n{_penstock(views + self.query)};"

    @property
    def for_duckdb(self) -> list[str]:
        """As statements over tables of the same names."""
        views = [f"CREATE VIEW {name} AS {_duckdb(text)}" for name, text in self.views]
        return [*views, _duckdb(self.query)]


def _penstock(text: str) -> str:
    def window(found: re.Match[str]) -> str:
        call = f"window({found['time']}, {found['length']})"
        return f"{call}.{found['end']}" if found["end"] else call

    return _WINDOW.sub(window, _EITHER.sub(r"\g<penstock>", text))


def _duckdb(text: str) -> str:
    def window(found: re.Match[str]) -> str:
        time, length = found["time"], found["length"]
        start = f"({time} - ((({time} % {length}) + {length}) % {length}))"
        return f"({start} + {length})" if found["end"] == "end" else start

    text = _EITHER.sub(r"\g<duckdb>", text)
    return _WINDOW.sub(window, text).replace("<=>", "IS NOT DISTINCT FROM")


@dataclass
class Writer:
    """Draws one script."""

    draw: random.Random
    depth: int
    """How deep queries may stand within queries."""
    has_tables: bool = False
    """Whether tables are joined, asked and their values taken; these need Spark."""
    views: list[tuple[str, str]] = field(default_factory=list)
    _known: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    _aliases: int = 0

    def script(self) -> Drawn:
        """A whole script."""
        text, _ = self.query(self.depth)
        return Drawn(tuple(self.views), text)

    def chance(self, share: float) -> bool:
        """True so often."""
        return self.draw.random() < share

    # Rows

    def item(self, depth: int) -> Rows:
        """A stream, a view, or a query in parentheses."""
        if depth <= 0 or self.chance(0.45):
            roles = {"id": "value", "k": "key", "v": "value", "ts": "time"}
            return Rows(self.draw.choice(STREAMS), tuple(Column(name, roles[name]) for name in COLUMNS))
        if self._known and self.chance(0.3):
            name = self.draw.choice(sorted(self._known))
            return Rows(name, self._known[name])
        text, columns = self.query(depth - 1)
        if self.chance(0.4):
            name = f"view_{len(self.views)}"
            self.views.append((name, text))
            self._known[name] = columns
            return Rows(name, columns)
        return Rows(f"({text})", columns, is_query=True)

    def alias(self) -> str:
        """One that no other part has."""
        self._aliases += 1
        return f"t{self._aliases}"

    # Queries

    def query(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        """A query, and the columns of its answer."""
        if depth > 0 and self.chance(0.15):
            return self._united(depth)
        forms = ("select", "distinct", "group", "session", "first", "first groups")
        form = self.draw.choices(forms, (12, 4, 4, 2, 2, 1))[0]
        named: list[tuple[str, str]] = []
        source = self._from(depth, named)
        where = [*source.where, *self._filters(source)]
        if depth >= 0 and self.chance(0.3):
            where.append(self._subquery(source, depth) if self.chance(0.7) else self._beside_or(source, depth))
        if self.has_tables and self.chance(0.3):
            where.append(self._asked_of_table(source))
        if form == "group":
            text, columns = self._grouped(source, where)
        elif form == "session":
            text, columns = self._in_sessions(source, where)
        elif form == "first groups":
            text, columns = self._first_groups(source, where)
        elif form == "first":
            text, columns = self._first_rows(source, where)
        else:
            text, columns = self._selected(source, where, is_distinct=form == "distinct")
        common = ", ".join(f"{name} AS ({inner})" for name, inner in named)
        return (f"WITH {common} {text}" if common else text), columns

    def _united(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        """Two or three queries with the same columns."""
        parts = []
        for _ in range(self.draw.choice((2, 2, 3))):
            text, columns = self.query(depth - 1)
            values = [c.name for c in columns if c.role == "value"]
            parts.append(f"SELECT k, ts, {self.draw.choice(values)} AS v FROM ({text}) {self.alias()}")
        word = self.draw.choice((" UNION ALL ", " UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT "))
        return word.join(parts), (Column("k", "key"), Column("ts", "time"), Column("v", "value"))

    def _from(self, depth: int, named: list[tuple[str, str]]) -> _From:
        """One to three things, joined."""
        first = self._placed(depth, named)
        text, parts, where = f"{first.text} {first.alias}", [first], list[str]()
        joins = self.draw.choices((0, 1, 2), (3, 5, 1))[0]
        for number in range(joins):
            other = self._placed(depth, named)
            kind = self.draw.choices(
                ("JOIN", ",", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"), (6, 2, 3, 1, 1, 1, 1)
            )[0]
            condition = self._tie(self.draw.choice(parts), other, is_inner=kind in ("JOIN", ","))
            if kind == "," and number == joins - 1 and not self.has_tables:
                text = f"{text}, {other.text} {other.alias}"
                where.append(condition)
            else:
                kind = "JOIN" if kind == "," else kind
                text = f"{text} {kind} {other.text} {other.alias} ON {condition}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                parts.append(other)
        tables = list[_Placed]()
        while self.has_tables and self.chance(0.4):
            joined, table = self._with_table(parts)
            text = f"{text} {joined}"
            tables.extend(table)
        return _From(text, parts, where, tables)

    def _table(self) -> _Placed:
        columns = (Column("k", "key"), Column("v", "value"))
        name = self.draw.choice(TABLES)
        if self.chance(0.2):
            return _Placed(Rows(f"(SELECT k, max(v) AS v FROM {name} GROUP BY k)", columns), self.alias())
        return _Placed(Rows(name, columns), self.alias())

    def _with_table(self, parts: list[_Placed]) -> tuple[str, list[_Placed]]:
        """A join with a table, and the table if what follows may name it."""
        one, table = self.draw.choice(parts), self._table()
        kind = self.draw.choice(("JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"))
        conditions = [f"{one.name('key', self.draw)} = {table.alias}.k"]
        if self.chance(0.3):
            other = self.draw.choice((one, one, self.draw.choice(parts)))
            conditions.append(f"{other.name('value', self.draw)} {self.draw.choice(('<', '<>', '='))} {table.alias}.v")
        text = f"{kind} {table.text} {table.alias} ON {' AND '.join(conditions)}"
        return text, [] if kind in ("SEMI JOIN", "ANTI JOIN") else [table]

    def _asked_of_table(self, source: _From) -> str:
        """A condition on a table: whether it has a row, a value, or how it compares with its largest."""
        part, table = self.draw.choice(source.parts), self._table()
        key, value = part.name("key", self.draw), part.name("value", self.draw)
        return self.draw.choice(
            (
                f"{key} IN (SELECT k FROM {table.text} {table.alias})",
                f"{key} NOT IN (SELECT k FROM {table.text} {table.alias} WHERE k IS NOT NULL)",
                f"{value} NOT IN (SELECT v FROM {table.text} {table.alias})",
                f"EXISTS (SELECT 1 FROM {table.text} {table.alias} WHERE {table.alias}.k = {key})",
                f"NOT EXISTS (SELECT 1 FROM {table.text} {table.alias} WHERE {table.alias}.k = {key} "
                f"AND {table.alias}.v < {value})",
                f"{value} < (SELECT max(v) FROM {table.text} {table.alias})",
            )
        )

    def _placed(self, depth: int, named: list[tuple[str, str]]) -> _Placed:
        rows = self.item(depth)
        if rows.is_query and self.chance(0.3):
            name = f"common_{self.alias()}"
            named.append((name, rows.text[1:-1]))
            rows = Rows(name, rows.columns)
        return _Placed(rows, self.alias())

    def _tie(self, one: _Placed, other: _Placed, *, is_inner: bool) -> str:
        keys = one.name("key", self.draw), other.name("key", self.draw)
        times = one.name("time", self.draw), other.name("time", self.draw)
        low = self.draw.randint(-2, 1)
        band = self.draw.choice(
            (
                f"{times[1]} - {times[0]} BETWEEN {low} AND {low + self.draw.randint(0, 3)}",
                f"{times[1]} = {times[0]}",
                f"{times[1]} >= {times[0]} AND {times[1]} <= {times[0]} + {self.draw.randint(0, 3)}",
            )
        )
        conditions = [f"{keys[0]} = {keys[1]}", band]
        if self.chance(0.2):
            conditions.append(f"{other.name('value', self.draw)} > {self.draw.randint(-1, 2)}")
        if is_inner and self.chance(0.25):
            conditions.append(self._residual(one, other))
        return " AND ".join(conditions)

    def _residual(self, one: _Placed, other: _Placed) -> str:
        """A condition on two streams that closes nothing."""
        left, right = one.name("value", self.draw), other.name("value", self.draw)
        return self.draw.choice(
            (
                f"{left} <> {right}",
                f"{left} <=> {right}",
                f"({left} < {right} OR {left} = 2)",
                f"{left} + {right} > 1",
                f"coalesce({left}, 0) <= coalesce({right}, 1)",
                f"CASE WHEN {left} > 1 THEN {right} ELSE {left} END > 0",
            )
        )

    def _filters(self, source: _From) -> list[str]:
        found = []
        if self.chance(0.35):
            part = self.draw.choice(source.every)
            value = part.name("value", self.draw)
            found.append(
                self.draw.choice(
                    (
                        f"{value} > {self.draw.randint(-1, 2)}",
                        f"{value} IS NULL",
                        f"{value} IS NOT NULL",
                        f"{value} IN (0, 2, 3)",
                        f"({value} < 1 OR {part.name('key', self.draw)} = 2)",
                    )
                )
            )
        return found

    def _subquery(self, source: _From, depth: int, *, takes_in: bool = True) -> str:
        """An EXISTS or an IN, over one thing or over two."""
        outer = self.draw.choice(source.parts)
        inner = _Placed(self.item(depth - 1), self.alias())
        tie = self._tie(outer, inner, is_inner=False)
        negated = "NOT " if self.chance(0.4) else ""
        text = f"{inner.text} {inner.alias}"
        if self.chance(0.3):
            other = _Placed(self.item(depth - 1), self.alias())
            text = f"{text} JOIN {other.text} {other.alias} ON {self._tie(inner, other, is_inner=True)}"
        elif self.chance(0.2):
            deep = _Placed(self.item(depth - 2), self.alias())
            within = f"SELECT 1 FROM {deep.text} {deep.alias} WHERE {self._tie(inner, deep, is_inner=False)}"
            tie = f"{tie} AND {'NOT ' if self.chance(0.5) else ''}EXISTS ({within})"
        if takes_in and not negated and self.chance(0.4):
            # Only what is known to have a value may stand in NOT IN.
            band = tie.partition(" AND ")[2]
            value, member = outer.name("key", self.draw), inner.name("key", self.draw)
            return f"{value} IN (SELECT {member} FROM {text} WHERE {band})"
        return f"{negated}EXISTS (SELECT 1 FROM {text} WHERE {tie})"

    def _beside_or(self, source: _From, depth: int) -> str:
        """An EXISTS or an IN among other conditions."""
        value = self.draw.choice(source.every).name("value", self.draw)
        plain = self.draw.choice((f"{value} > 1", f"{value} IS NULL", f"{value} IN (0, 2)", f"NOT {value} <= 0"))
        asked, certain = self._question(source, depth), self._question(source, depth, may_be_unknown=False)
        return self.draw.choice(
            (
                f"({plain} OR {asked})",
                f"({asked} OR {plain})",
                f"NOT ({plain} AND {certain})",
                f"({asked} OR {self._question(source, depth)})",
                f"({plain} AND {asked} OR {value} = 1)",
                f"CASE WHEN {certain} THEN {value} > 0 ELSE {value} < 2 END",
            )
        )

    def _question(self, source: _From, depth: int, *, may_be_unknown: bool = True) -> str:
        """EXISTS or IN; over streams IN is taken in a place where NULL is as good as false."""
        if self.has_tables and self.chance(0.4):
            part, table = self.draw.choice(source.parts), self._table()
            return f"{part.name('value', self.draw)} {self.draw.choice(('', 'NOT '))}IN (SELECT v FROM {table.text})"
        return self._subquery(source, min(depth, 0), takes_in=may_be_unknown)

    # What is given

    def _selected(self, source: _From, where: list[str], *, is_distinct: bool) -> tuple[str, tuple[Column, ...]]:
        key = self.draw.choice(source.every).name("key", self.draw)
        time = self.draw.choice(source.parts).name("time", self.draw)
        items = [(key, Column("k", "key")), (time, Column("ts", "time"))]
        for number in range(self.draw.randint(1, 2)):
            value = self.draw.choice(source.every).name("value", self.draw)
            shown = self.draw.choice((value, value, f"{value} + 1", f"coalesce({value}, -1)", "7"))
            items.append((shown, Column(f"v{number}", "value")))
        if self.chance(0.15):
            asked = self._question(source, 0, may_be_unknown=False)
            # A question of a table may be unknown, and needs Spark anyhow.
            shown = f"coalesce(CAST({asked} AS INT), 7)" if self.has_tables else f"CASE WHEN {asked} THEN 1 ELSE 0 END"
            items.append((shown, Column("asked", "value")))
        self.draw.shuffle(items)
        if self.chance(0.15):
            named = f"n{self.alias()}"
            items.append((self.draw.choice(source.every).name("value", self.draw), Column(named, "value")))
            items.append((f"coalesce({named} + 1, 5)", Column(f"{named}_more", "value")))
        shown = ", ".join(f"{value} AS {column.name}" for value, column in items)
        head = "SELECT DISTINCT" if is_distinct else "SELECT"
        return f"{head} {shown} FROM {source.kept(where)}", tuple(column for _, column in items)

    def _grouped(self, source: _From, where: list[str]) -> tuple[str, tuple[Column, ...]]:
        part = self.draw.choice(source.parts)
        time, key = part.name("time", self.draw), self.draw.choice(source.every).name("key", self.draw)
        length = self.draw.choice((2, 3, 5))
        value = self.draw.choice(source.every).name("value", self.draw)
        end = self.draw.choice(("start", "end"))
        items = [
            (key, Column("k", "key")),
            (f"[[{time}|{length}|{end}]]", Column("ts", "time")),
            (self._aggregate(source, value), Column("v0", "value")),
        ]
        if self.chance(0.2):
            function, theirs = self.draw.choice((("collect_list", ""), ("collect_set", "DISTINCT ")))
            in_duckdb = f"coalesce(list_sort(list({theirs}{value}) FILTER (WHERE {value} IS NOT NULL)), [])"
            items.append((f"⟦{function}({value})‖{in_duckdb}⟧", Column("l0", "list")))
        shown = ", ".join(f"{value} AS {column.name}" for value, column in items)
        # A row without a time is in no window.
        kept = source.kept([*where, f"{time} IS NOT NULL"])
        having = f" HAVING count(*) > {self.draw.randint(0, 1)}" if self.chance(0.2) else ""
        by = self.draw.choice((key, key, key, key, f"ROLLUP ({key})", f"GROUPING SETS (({key}), ())"))
        text = f"SELECT {shown} FROM {kept} GROUP BY {by}, [[{time}|{length}|]]{having}"
        return text, tuple(column for _, column in items)

    def _first_rows(self, source: _From, where: list[str]) -> tuple[str, tuple[Column, ...]]:
        """The first rows of each key in a window of time; what orders them are all columns that are shown."""
        key, value = (self.draw.choice(source.every).name(role, self.draw) for role in ("key", "value"))
        time = self.draw.choice(source.parts).name("time", self.draw)
        kept = source.kept([*where, f"{time} IS NOT NULL"])
        by = f"{value} {self.draw.choice(('ASC', 'DESC'))} NULLS {self.draw.choice(('FIRST', 'LAST'))}, {time}"
        over = f"(PARTITION BY {key}, [[{time}|{self.draw.choice((2, 3, 5))}|]] ORDER BY {by})"
        number, most = f"ROW_NUMBER() OVER {over}", self.draw.choice(("= 1", "<= 2", "< 3"))
        columns = (Column("k", "key"), Column("ts", "time"), Column("v0", "value"))
        items = f"{key} AS k, {time} AS ts, {value} AS v0"
        if self.chance(0.5):
            return f"SELECT {items} FROM {kept} QUALIFY {number} {most}", columns
        return (
            f"SELECT k, ts, v0 FROM (SELECT {items}, {number} AS rn FROM {kept}) {self.alias()} WHERE rn {most}",
            columns,
        )

    def _first_groups(self, source: _From, where: list[str]) -> tuple[str, tuple[Column, ...]]:
        """The first groups of a window of time; what orders them tells them apart."""
        key, value = (self.draw.choice(source.every).name(role, self.draw) for role in ("key", "value"))
        time = self.draw.choice(source.parts).name("time", self.draw)
        kept = source.kept([*where, f"{time} IS NOT NULL"])
        window, most = f"{time}|{self.draw.choice((2, 3, 5))}", self.draw.choice(("= 1", "<= 2", "< 3"))
        made = self.draw.choice(("count(*)", f"count({value})", f"sum({value})", f"max({value}) + 1"))
        order = f"{self.draw.choice((made, 'count(*)'))} DESC NULLS LAST, {key} NULLS FIRST"
        number = f"ROW_NUMBER() OVER (PARTITION BY [[{window}|]] ORDER BY {order})"
        items = f"{key} AS k, [[{window}|{self.draw.choice(('start', 'end'))}]] AS ts, {made} AS v0"
        columns = (Column("k", "key"), Column("ts", "time"), Column("v0", "value"))
        groups = f"FROM {kept} GROUP BY {key}, [[{window}|]]"
        if self.chance(0.5):
            return f"SELECT {items} {groups} QUALIFY {number} {most}", columns
        return (
            f"SELECT k, ts, v0 FROM (SELECT {items}, {number} AS rn {groups}) {self.alias()} WHERE rn {most}",
            columns,
        )

    def _aggregate(self, source: _From, value: str) -> str:
        """An aggregate that is a number."""
        other = self.draw.choice(source.parts).name("value", self.draw)
        best = f"FILTER (WHERE {other} IS NOT NULL))[1]"
        both = f"CASE WHEN {value} IS NOT NULL AND {other} IS NOT NULL THEN ({value}, {other}) END"
        return self.draw.choice(
            (
                "count(*)",
                f"count({value})",
                f"sum({value})",
                f"min({value})",
                f"max({value})",
                f"count(DISTINCT {value})",
                f"⟦count(DISTINCT {value}, {other})‖count(DISTINCT {both})⟧",
                f"⟦max_by({value}, {other})‖(list({value} ORDER BY {other} DESC, {value} DESC NULLS LAST) {best}⟧",
                f"⟦min_by({value}, {other})‖(list({value} ORDER BY {other}, {value} NULLS LAST) {best}⟧",
            )
        )

    def _in_sessions(self, source: _From, where: list[str]) -> tuple[str, tuple[Column, ...]]:
        """Groups by a session; DuckDB is asked which rows come more than the gap after those before them."""
        time, key, value = (self.draw.choice(source.parts).name(role, self.draw) for role in ("time", "key", "value"))
        gap = self.draw.choice((1, 2, 4))
        of_value = self.draw.choice(("count(*)", "count({})", "sum({})", "min({})", "count(DISTINCT {})"))
        end = self.draw.choice(("start", "end"))
        session = f"session_window({time}, {gap})"
        theirs = f"max(t) + {gap}" if end == "end" else "min(t)"
        begins = f"{time} - lag({time}) OVER (PARTITION BY {key} ORDER BY {time}) <= {gap}"
        head = (
            f"⟦SELECT {key} AS k, {session}.{end} AS ts, {of_value.format(value)} AS v0"
            f"‖SELECT k, {theirs} AS ts, {of_value.format('v')} AS v0 FROM (SELECT *, "
            "sum(new) OVER (PARTITION BY k ORDER BY t) AS session FROM (SELECT "
            f"{key} AS k, {time} AS t, {value} AS v, CASE WHEN {begins} THEN 0 ELSE 1 END AS new⟧"
        )
        tail = f"⟦GROUP BY {key}, {session}‖) AS marked) AS numbered GROUP BY k, session⟧"
        text = f"{head} FROM {source.kept([*where, f'{time} IS NOT NULL'])} {tail}"
        return text, (Column("k", "key"), Column("ts", "time"), Column("v0", "value"))


@dataclass(frozen=True)
class _Placed:
    """Rows under an alias."""

    rows: Rows
    alias: str

    @property
    def text(self) -> str:
        return self.rows.text

    def name(self, role: str, draw: random.Random) -> str:
        return f"{self.alias}.{draw.choice(self.rows.of(role))}"


@dataclass(frozen=True)
class _From:
    """A FROM: its text, what can be named of it, and what belongs into WHERE."""

    text: str
    parts: list[_Placed]
    where: list[str]
    tables: list[_Placed] = field(default_factory=list)

    @property
    def every(self) -> list[_Placed]:
        """What can be named, tables too: these have no time."""
        return [*self.parts, *self.tables]

    def kept(self, where: list[str]) -> str:
        """With the conditions of WHERE."""
        return f"{self.text} WHERE {' AND '.join(where)}" if where else self.text
