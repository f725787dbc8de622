"""Random scripts that read well: columns of every type, CHECKs, orders, keys, punctuations, all shapes of a query.

Scripts whose tokens are changed at random (tests/soak.py) seldom parse; these nearly always do, so that what is behind
the parser is tried with types and declarations that nobody thought of together.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

TYPES = {
    "BIGINT": ("1", "5", "-3", "9223372036854775807"),
    "INT": ("2", "7"),
    "TINYINT": ("3", "200"),
    "DOUBLE": ("1.5", "2", "-0.0", "1e300"),
    "FLOAT": ("0.5", "3"),
    "DECIMAL(5,2)": ("1.25", "999.99", "1000"),
    "STRING": ("'a'", "''", "'zz'"),
    "BOOLEAN": ("TRUE", "FALSE"),
    "BINARY": ("X'00'",),
    "DATE": ("DATE '2024-01-01'", "DATE '2024-02-28'"),
    "TIMESTAMP": ("TIMESTAMP '2024-01-01 00:00:00'",),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2024-01-01 00:00:00'",),
    "ARRAY<INT>": ("array(1)",),
    "STRUCT<a: INT>": ("named_struct('a', 1)",),
}
_SIGNS = ("<", "<=", "=", ">", ">=", "<>", "<=>")
Columns = tuple[tuple[str, str], ...]


@dataclass
class TypedWriter:
    """Writes one script."""

    draw: random.Random

    def script(self) -> str:
        """Three streams and a query."""
        streams = {name: self._columns() for name in "abc"}
        declared = [f"CREATE STREAM {name} ({self._declared(columns)});" for name, columns in streams.items()]
        return "\n".join([*declared, f"{self._query(streams)};"])

    def _columns(self) -> Columns:
        own = tuple((f"c{n}", self.draw.choice(tuple(TYPES))) for n in range(self.draw.randint(1, 4)))
        return (*own, ("k", "BIGINT"), ("ts", self.draw.choice(("TIMESTAMP", "BIGINT", "DATE"))))

    def _declared(self, columns: Columns) -> str:
        draw, said = self.draw, [f"{name} {kind}" for name, kind in columns]
        said.append("EVENT TIME ts")
        if draw.random() < 0.6:
            said.append("ORDERED BY ts" + draw.choice(("", "", " WITHIN 3 ROWS", " WITHIN AUTO")))
        for _ in range(draw.randint(0, 3)):
            said.append(f"CHECK ({' AND '.join(self._condition(columns) for _ in range(draw.randint(1, 2)))})")
        if draw.random() < 0.3:
            said.append(f"PRIMARY KEY ({draw.choice(columns)[0]})")
        if draw.random() < 0.2:
            said.append(f"CLUSTERED BY {draw.choice(columns)[0]} WITHIN 5 ROWS")
        if draw.random() < 0.2:
            said.append(f"PUNCTUATED ON ({draw.choice(columns)[0]}) WHEN {self._condition(columns)}")
        return ", ".join(said)

    def _condition(self, columns: Columns, alias: str = "") -> str:
        draw = self.draw
        name, kind = draw.choice(columns)
        own = f"{alias}{name}"
        one, other = (draw.choice(TYPES[kind]) for _ in range(2))
        return draw.choice(
            (
                f"{own} {draw.choice(_SIGNS)} {one}",
                f"{own} {draw.choice(_SIGNS)} {alias}{draw.choice(columns)[0]}",
                f"{own} IN ({one}, {other})",
                f"{own} NOT IN ({one}, {other})",
                f"{own} BETWEEN {one} AND {other}",
                f"{own} IS NULL",
                f"{own} IS NOT NULL",
                f"NOT ({own} = {one})",
                f"({own} = {one} OR {own} > {other})",
            )
        )

    def _query(self, streams: dict[str, Columns]) -> str:
        draw = self.draw
        used = draw.sample(tuple(streams), draw.randint(1, 3))
        pairs = tuple(pairwise(used))
        where = [f"{one}.k = {other}.k" for one, other in pairs]
        where += [f"{used[0]}.ts = {used[1]}.ts"] if pairs and draw.random() < 0.4 else []
        where += [self._condition(streams[name], f"{name}.") for name in draw.choices(used, k=draw.randint(0, 3))]
        body = f"FROM {', '.join(used)}" + (f" WHERE {' AND '.join(where)}" if where else "")
        named = [f"{name}.{draw.choice(streams[name])[0]}" for name in draw.choices(used, k=draw.randint(1, 3))]
        shown = ", ".join(f"{column} AS o{number}" for number, column in enumerate(named))
        kind = draw.choice(("plain", "distinct", "grouped", "outer", "exists"))
        if kind == "distinct":
            return f"SELECT DISTINCT {shown} {body}"
        if kind == "grouped":
            many = draw.choice(("count(*)", f"min({used[0]}.k)", f"max({used[-1]}.ts)", f"avg({used[0]}.k)"))
            return f"SELECT {named[0]}, {many} AS many {body} GROUP BY {named[0]}"
        if kind == "outer" and pairs:
            joins = (
                f"{draw.choice(('LEFT', 'FULL', 'RIGHT', 'INNER'))} JOIN {other} ON {one}.k = {other}.k"
                + (f" AND {self._condition(streams[other], f'{other}.')}" if draw.random() < 0.4 else "")
                for one, other in pairs
            )
            return f"SELECT {shown} FROM {used[0]} {' '.join(joins)}"
        if kind == "exists" and pairs:
            one, other = used[:2]
            inner = f"{other}.k = {one}.k AND {self._condition(streams[other], f'{other}.')}"
            asked = draw.choice(("EXISTS", "NOT EXISTS"))
            return f"SELECT {one}.k FROM {one} WHERE {asked} (SELECT 1 FROM {other} WHERE {inner})"
        return f"SELECT {shown} {body}"
