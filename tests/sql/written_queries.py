"""Random queries over written streams, valid by construction, as lists of tokens.

Only what the language allows is written: columns compared are of one kind, ON sees its own two sides, outputs have
names of their own, aggregates stand in no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.sql.written_streams import (
    ORDERED_KINDS,
    Col,
    Tokens,
    Written,
    condition,
    duration,
    maybe,
    other_case,
    separated,
)

_ALIASES = ["x", "y", "z", "w", "T1", "`an alias`", "rows", "`left`"]
_JOINS = [["JOIN"], ["INNER", "JOIN"], ["LEFT", "JOIN"], ["LEFT", "OUTER", "JOIN"], ["RIGHT", "JOIN"],
          ["RIGHT", "OUTER", "JOIN"], ["FULL", "JOIN"], ["FULL", "OUTER", "JOIN"]]  # fmt: skip
_EXACT = ("boolean", "date", "timestamp", "double", "binary")
"""Kinds whose types compare whatever their spelling; strings and integers do too."""


@dataclass(frozen=True)
class Member:
    """A stream in a query, under its alias."""

    alias: str
    stream: Written


class QueryWriter:
    """Writes one query."""

    def __init__(self, random: Random, streams: list[Written], sink: str | None) -> None:
        self.random = random
        self.streams = streams
        self.sink = sink
        self.free = random.sample(_ALIASES, len(_ALIASES))
        self.taken: set[str] = set()
        self.shares_clock = len({s.event_time.kind for s in streams if s.event_time is not None}) <= 1

    def statement(self) -> Tokens:
        """INSERT INTO … SELECT, or a bare SELECT."""
        random = self.random
        members, from_tokens = self._from()
        where = self._where(members)
        hints = self._hints(members)
        grouped = maybe(random, 0.3)
        items, group_by = self._grouped(members) if grouped else (self._items(members), [])
        distinct = random.choice([["DISTINCT"], ["ALL"], [], []]) if not grouped else []
        text = [] if self.sink is None else ["INSERT", "INTO", other_case(random, self.sink)]
        text += ["SELECT", *hints, *distinct, *separated(items), "FROM", *from_tokens]
        if where:
            text += ["WHERE", *separated(where, "AND")]
        if group_by:
            text += ["GROUP", "BY", *separated(group_by)]
        return text

    # FROM

    def _member(self) -> tuple[Member, Tokens]:
        random = self.random
        stream = random.choice(self.streams)
        text = [other_case(random, stream.name)]
        if maybe(random, 0.4):
            if stream.event_time is not None and self.shares_clock and maybe(random, 0.6):
                text += ["[", "RANGE", *duration(random, stream.event_time.kind), "]"]
            else:
                text += ["[", "ROWS", str(random.randint(1, 50000)), "]"]
        if stream.name.casefold() in self.taken or maybe(random, 0.6):
            alias = self.free.pop()
            text += [alias] if maybe(random, 0.3) and alias != "rows" else ["AS", alias]
        else:
            alias = stream.name
        self.taken.add(alias.casefold())
        return Member(alias, stream), text

    def _from(self) -> tuple[list[Member], Tokens]:
        random = self.random
        first, text = self._member()
        members, side = [first], [first]
        for _ in range(random.choice([0, 1, 1, 2, 3])):
            member, written = self._member()
            members.append(member)
            if maybe(random, 0.4):
                text += [",", *written]
                side = [member]
                continue
            side = [*side, member]
            if maybe(random, 0.1):
                text += ["CROSS", "JOIN", *written]
                continue
            text += [*random.choice(_JOINS), *written, "ON"]
            ties = [self._tie(side, member) for _ in range(random.randint(1, 2))]
            text += separated([tie for tie in ties if tie] or [["TRUE"]], "AND")
        return members, text

    def _named(self, member: Member, column: Col) -> Tokens:
        return [other_case(self.random, member.alias), ".", other_case(self.random, column.name)]

    def _tie(self, members: list[Member], member: Member) -> Tokens:
        """A condition between a stream and those before it, or on that stream alone."""
        random = self.random
        others = [m for m in members if m != member]
        if not others or maybe(random, 0.2):
            return condition(random, member.stream.carried, lambda c: self._named(member, c))
        other = random.choice(others)
        pairs = [
            (mine, theirs)
            for mine in member.stream.carried
            for theirs in other.stream.carried
            if mine.kind == theirs.kind and mine.kind in ("integer", "string", *_EXACT)
        ]
        if not pairs:
            return []
        mine, theirs = random.choice(pairs)
        left, right = self._named(member, mine), self._named(other, theirs)
        if mine.kind in ("integer", "date", "timestamp") and maybe(random, 0.5):
            return self._band(left, right, mine.kind)
        return [*left, random.choice(["=", "=", "=", "<", "<=", ">", ">="]), *right]

    def _band(self, left: Tokens, right: Tokens, kind: str) -> Tokens:
        random = self.random
        op = random.choice(["<", "<=", ">", ">="])
        length = self._length(kind)
        return random.choice(
            [
                [*left, "-", *right, op, *length],
                [*left, op, *right, random.choice(["+", "-"]), *length],
                [*left, "-", *length, op, *right],
                [*left, "BETWEEN", *right, "AND", *right, "+", *length],
                [*left, "BETWEEN", *right, "-", *length, "AND", *right, "+", *self._length(kind)],
                [*left, "-", *right, "BETWEEN", "0", "AND", *length]
                if kind == "integer"
                else [*left, "-", *right, "BETWEEN", "INTERVAL", "0", "SECONDS", "AND", *length],
            ]
        )

    def _length(self, kind: str) -> Tokens:
        if kind == "integer":
            return duration(self.random, kind)
        number, unit = duration(self.random, kind)
        form = self.random.choice(["plain", "quoted", "whole"])
        if form == "plain" and number.isdigit():
            return ["INTERVAL", number, unit]
        return ["INTERVAL", f"'{number}'", unit] if form == "quoted" else ["INTERVAL", f"'{number} {unit}'"]

    # WHERE

    def _where(self, members: list[Member]) -> list[Tokens]:
        random = self.random
        parts = [self._tie(members[:i], member) for i, member in enumerate(members) if maybe(random, 0.7)]
        if maybe(random, 0.3):
            parts.append(self._exists(members))
        random.shuffle(parts)
        return [part for part in parts if part]

    def _exists(self, members: list[Member]) -> Tokens:
        random = self.random
        inner, written = self._member()
        ties = [tie for _ in range(random.randint(1, 2)) if (tie := self._tie(members, inner))]
        ties = ties or [condition(random, inner.stream.carried, lambda c: self._named(inner, c))]
        chosen = random.choice([["1"], ["*"], self._named(inner, random.choice(inner.stream.carried))])
        negated = ["NOT"] if maybe(random, 0.5) else []
        return [*negated, "EXISTS", "(", "SELECT", *chosen, "FROM", *written, "WHERE", *separated(ties, "AND"), ")"]

    # What it gives

    def _items(self, members: list[Member]) -> list[Tokens]:
        random = self.random
        if len(members) == 1 and maybe(random, 0.3):
            return [["*"] if maybe(random, 0.5) else [members[0].alias, ".", "*"]]
        return [
            [*self._scalar(random.choice(members)), *(["AS"] if maybe(random, 0.8) else []), f"out_{i}"]
            for i in range(random.randint(1, 4))
        ]

    def _scalar(self, member: Member) -> Tokens:
        random = self.random
        column = random.choice(member.stream.carried)
        name = self._named(member, column)
        forms = [name, name, ["coalesce", "(", *name, ",", "NULL", ")"], ["(", *name, "IS", "NULL", ")"]]
        if column.kind in ("integer", "decimal", "double"):
            forms += [[*name, "*", "2", "+", "1"], ["abs", "(", *name, ")"], ["CAST", "(", *name, "AS", "STRING", ")"]]
        if column.kind == "string":
            forms += [["upper", "(", *name, ")"], [*name, "||", "'!'"]]
        if column.kind == "struct":
            forms += [[*name, ".", "x"]]
        return random.choice(forms)

    def _grouped(self, members: list[Member]) -> tuple[list[Tokens], list[Tokens]]:
        random = self.random
        items: list[Tokens] = []
        group_by: list[Tokens] = []
        for i in range(random.randint(0, 2)):
            member = random.choice(members)
            key = self._scalar(member)
            items.append([*key, "AS", f"key_{i}"])
            group_by.append(random.choice([key, [f"key_{i}"], [str(len(items))]]))
        timed = [m for m in members if m.stream.event_time is not None]
        if timed and maybe(random, 0.5):
            member = random.choice(timed)
            assert member.stream.event_time is not None
            length = duration(random, member.stream.event_time.kind)
            spelt = length if len(length) == 1 else [f"'{' '.join(length)}'"]
            window = ["window", "(", *self._named(member, member.stream.event_time), ",", *spelt, ")"]
            group_by.append(window)
            items.append(random.choice([[*window, "AS", "w"], [*window, ".", "start", "AS", "w"]]))
        for i in range(random.randint(0 if items else 1, 3)):
            items.append([*self._over_aggregates(members), "AS", f"agg_{i}"])
        return items, group_by

    def _over_aggregates(self, members: list[Member]) -> Tokens:
        """An aggregate, or an expression over some."""
        random = self.random
        one, other = (self._aggregate(random.choice(members)) for _ in range(2))
        return random.choice(
            [
                *[one] * 6,
                ["60", "*", *one],
                ["-", "(", *one, "+", *other, ")", "/", "5.0"],
                ["coalesce", "(", *one, ",", *other, ")"],
                ["CASE", "WHEN", *one, ">", "'count(1)'", "THEN", *other, "END"],
            ]
        )

    def _aggregate(self, member: Member) -> Tokens:
        random = self.random
        columns = member.stream.of_kind(*ORDERED_KINDS)
        column = random.choice(columns)
        name = self._named(member, column)
        functions = ["count", "min", "max", "COUNT"]
        functions += ["sum", "avg", "median"] if column.kind in ("integer", "decimal", "double") else []
        function = random.choice(functions)
        return random.choice(
            [
                [function, "(", *name, ")"],
                ["count", "(", "*", ")"],
                ["count", "(", "DISTINCT", *name, ")"],
                [function, "(", "(", *name, "IS", "NULL", ")", ")"],
                [function, "(", "coalesce", "(", *name, ",", *name, ")", ")"],
            ]
        )

    # Hints

    def _hints(self, members: list[Member]) -> Tokens:
        random = self.random
        if not maybe(random, 0.25):
            return []
        member = random.choice(members)
        value = "".join(self._named(member, random.choice(member.stream.carried)))
        over = ["EVICT(prob)", "EVICT(LIFE)", f"VALUE({value})", "ARCHIVE('out/late')"]
        free = ["ERROR(5 PERCENT)", "ERROR(0.5 PERCENT WITH BOUNDS)", "MONITOR(1.2, 0.01, 1000)"]
        budgets = ["BUDGET(1000 ROWS)", "BUDGET(64 MB)", "SHED(INPUT)"]
        chosen = [random.choice(budgets), *random.sample(over, random.randint(0, 1))] if maybe(random, 0.6) else []
        chosen += random.sample(free, random.randint(0 if chosen else 1, 1))
        random.shuffle(chosen)
        return ["/*+ " + ", ".join(chosen) + " */"]
