"""A script with more conditions: each is written where the two streams that it is about meet in a query.

That is the ON of their join where there is one, the WHERE of an EXISTS for its stream, else the WHERE of the SELECT,
which gets one if it has none. A window of the groups is written behind their last key, and behind the last column, so
that each row says which window it is of. Nothing else of the text changes.

A place is found by the aliases that a SELECT names. Where two streams meet through a query in FROM, by WITH or as a
view, it is that of the SELECT around, on the columns by which the query gives their times; where there is none, or
several, nothing is guessed. Not decided: whether
what is written suffices; who asks parses the text again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import UsageError
from penstock.model.names import fold, quoted
from penstock.records import record
from penstock.sql.dialect import read_statements
from penstock.sql.from_grammar import UNNAMED
from penstock.sql.source import SourceText
from penstock.sql.tree import (
    Code,
    CreateView,
    FromElements,
    FromItem,
    FromJoin,
    FromPart,
    FromQuery,
    Insert,
    QueryBody,
    QueryText,
    Select,
    SetOperation,
    WrittenJoin,
)


@record
class MoreCondition:
    """A condition on the times of two streams of a block, by their aliases; an empty name is the query itself."""

    block: str
    aliases: tuple[str, str]
    text: str
    times: tuple[str, str] = ("", "")
    """The columns that it compares."""
    in_exists: bool = False
    """Whether the second is the stream of an EXISTS."""


@record
class MoreKey:
    """A window to group by, of the event time of the stream that has this alias."""

    block: str
    alias: str
    text: str


@record
class _Seen:
    """A SELECT, the names of what it is part of, and the aliases of those around it."""

    select: Select
    names: frozenset[str]
    around: frozenset[str]


def with_conditions(text: str, query: int, more: Sequence[MoreCondition | MoreKey]) -> str:
    """The script whose query of that place, from 0, asks for more; UsageError where the place is not plain."""
    statements = read_statements(SourceText(text, "<script>"))
    written = [s for s in statements if isinstance(s, Insert)]
    own = list(_selects(written[query].query, frozenset({""}), frozenset()))
    views = [
        seen
        for statement in statements
        if isinstance(statement, CreateView)
        for seen in _selects(statement.query, frozenset({fold(statement.name.text)}), frozenset())
    ]
    named = {fold(s.name.text): s.query for s in statements if isinstance(s, CreateView)}
    named |= {fold(c.name.text): c.query for c in written[query].query.common if not c.columns}
    added: list[tuple[int, str]] = []
    for one in more:
        met = _met_above(one, own, named) if isinstance(one, MoreCondition) else None
        select, asked = met or (_place(one, own, views), one)
        added += _key(select, asked) if isinstance(asked, MoreKey) else _condition(text, select, asked)
    # What is written in one place keeps its order.
    for place, words in sorted(added, key=lambda pair: -pair[0]):
        text = text[:place] + words + text[place:]
    return text


def _place(one: MoreCondition | MoreKey, own: Iterable[_Seen], views: Iterable[_Seen]) -> Select:
    """The SELECT that names these streams, of the query before those of views; the block's own before others."""
    wanted = {fold(one.alias)} if isinstance(one, MoreKey) else set(map(fold, one.aliases))
    outer = {fold(one.aliases[0])} if isinstance(one, MoreCondition) and one.in_exists else set[str]()

    def fits(seen: _Seen) -> bool:
        there = set(_aliases(seen.select.source))
        is_there = wanted <= there or (bool(outer) and wanted - outer <= there and outer <= seen.around)
        return is_there and (not isinstance(one, MoreKey) or bool(seen.select.group_by or seen.select.groups_by_all))

    for some in (own, views):
        found = [seen for seen in some if fits(seen)]
        named = [seen for seen in found if fold(one.block) in seen.names]
        if len(named or found) == 1:
            return (named or found)[0].select
    names = " and ".join([one.alias] if isinstance(one, MoreKey) else one.aliases)
    raise UsageError(
        f"this fix cannot be written for you: no one SELECT of the query names {names}",
        detail="streams that meet through a view, or under an alias that several SELECTs have, are yours to place",
        hint=f"compare the times where they meet, a view's own where it selects one: {one.text}",
    )


def _met_above(
    one: MoreCondition, own: Iterable[_Seen], named: Mapping[str, QueryText]
) -> tuple[Select, MoreCondition] | None:
    """The SELECT in which two streams meet of which one or both stand in a query in its FROM that gives their times.

    And the condition on what it calls them; None where there is no one such SELECT.
    """
    found: list[tuple[Select, MoreCondition]] = []
    for seen in own if all(one.times) else ():
        leaves = list(_leaves(seen.select.source))
        both = [_named_above(leaves, alias, time, named) for alias, time in zip(one.aliases, one.times, strict=True)]
        (first, second) = both
        if first is None or second is None or first[0] == second[0]:
            continue
        text = one.text
        for time, (alias, column) in zip(one.times, (first, second), strict=True):
            text = text.replace(time, f"{quoted(alias)}.{quoted(column)}")
        if text != one.text:
            found.append((seen.select, replace(one, text=text, aliases=(first[0], second[0]))))
    return found[0] if len(found) == 1 and not one.in_exists else None


def _named_above(
    leaves: Sequence[FromItem | FromQuery], alias: str, time: str, named: Mapping[str, QueryText]
) -> tuple[str, str] | None:
    """What a column of a stream is called beside these parts of FROM: an alias, and a name."""
    column = time.rpartition(".")[2].strip("`")
    found: list[tuple[str, str]] = []
    for leaf in leaves:
        own = next(_aliases(leaf))
        query = leaf.query if isinstance(leaf, FromQuery) else named.get(fold(leaf.stream.text))
        if query is None:
            found += [(alias, column)] if own == fold(alias) else []
        elif not (isinstance(leaf, FromQuery) and leaf.columns):
            given = _given_out(query, None if own == fold(alias) else alias, time, named)
            found += [] if given is None else [(leaf.alias.text if leaf.alias is not None else own, given)]
    return found[0] if len(found) == 1 else None


def _given_out(query: QueryText, alias: str | None, time: str, named: Mapping[str, QueryText]) -> str | None:
    """The name of the column of a query that is a column of a stream in its FROM, or further below.

    Without an alias: of the only stream there, which goes by the query's own.
    """
    body: QueryBody = query
    while isinstance(body, QueryText):
        body = body.body
    if not isinstance(body, Select):
        return None
    leaves = list(_leaves(body.source))
    only = next(_aliases(leaves[0])) if len(leaves) == 1 else None
    inside = None if alias is None and only is None else _named_above(leaves, alias or only or "", time, named)
    if inside is None:
        return None
    for item in body.items:
        if item.code is None:
            # Of several streams a name may stand twice.
            is_of = len(leaves) == 1 if item.star_of is None else fold(item.star_of.text) == fold(inside[0])
            if is_of and fold(inside[1]) not in {fold(name.text) for name in item.without}:
                return inside[1]
        elif isinstance(item.code.node, exp.Column) and fold(item.code.node.name) == fold(inside[1]):
            of = item.code.node.table
            if fold(of) == fold(inside[0]) or (not of and len(leaves) == 1):
                return item.alias.text if item.alias is not None else inside[1]
    return None


def _by_hand(why: str, text: str) -> UsageError:
    return UsageError(f"this fix cannot be written for you: {why}", hint=f"write by hand: {text}")


def _selects(body: QueryBody, names: frozenset[str], around: frozenset[str]) -> Iterator[_Seen]:
    """Every SELECT of a query, those in FROM, WITH, EXISTS and IN too."""
    match body:
        case QueryText():
            for common in body.common:
                yield from _selects(common.query, frozenset({fold(common.name.text)}), around)
            yield from _selects(body.body, names, around)
        case SetOperation():
            yield from _selects(body.left, names, around)
            yield from _selects(body.right, names, around)
        case Select():
            yield _Seen(body, names, around)
            inside = around | frozenset(_aliases(body.source))
            codes = [body.where, *(join.on for join in _joins(body.source))]
            for code in codes:
                for node in () if code is None else code.node.find_all(exp.Query):
                    if isinstance(query := node.meta.get("query"), QueryText):
                        yield from _selects(query, frozenset(), inside)
            for part in _leaves(body.source):
                if isinstance(part, FromQuery):
                    alias = UNNAMED if part.alias is None else fold(part.alias.text)
                    yield from _selects(part.query, frozenset({alias}), frozenset())
        case _:
            return


def _leaves(part: FromPart) -> Iterator[FromItem | FromQuery]:
    match part:
        case FromJoin():
            yield from _leaves(part.left)
            yield from _leaves(part.right)
        case FromElements():
            yield from _leaves(part.rows)
        case _:
            yield part


def _joins(part: FromPart) -> Iterator[FromJoin]:
    if isinstance(part, FromJoin):
        yield part
        yield from _joins(part.left)
        yield from _joins(part.right)
    elif isinstance(part, FromElements):
        yield from _joins(part.rows)


def _aliases(part: FromPart) -> Iterator[str]:
    for leaf in _leaves(part):
        name = leaf.alias or (leaf.stream if isinstance(leaf, FromItem) else None)
        yield UNNAMED if name is None else fold(name.text)


def _condition(text: str, select: Select, one: MoreCondition) -> list[tuple[int, str]]:
    wanted = set(map(fold, one.aliases))
    join, below_outer = None, False
    for candidate in _joins(select.source):
        if wanted <= set(_aliases(candidate)):
            below_outer = below_outer or (join is not None and join.kind is not WrittenJoin.INNER)
            join = candidate
    if join is not None and join.on is not None:
        return _and(text, select, join.on, one.text)
    if join is not None and (join.kind is not WrittenJoin.INNER or below_outer):
        raise _by_hand("the join has no ON", one.text)
    if select.where is not None:
        return _and(text, select, select.where, one.text)
    end = _end(text, select.source)
    return [(end, f"{_break(text, select, next(_leaves(select.source)).at.start)}WHERE {one.text}")]


def _and(text: str, select: Select, code: Code, more: str) -> list[tuple[int, str]]:
    """A condition behind another; an OR is put into parentheses first."""
    is_or = isinstance(code.node, exp.Or | exp.Xor)
    opened = [(code.at.start, "(")] if is_or else []
    close = ")" if is_or else ""
    return [*opened, (code.at.end, f"{close}{_break(text, select, code.at.start, deeper='  ')}AND {more}")]


def _key(select: Select, one: MoreKey) -> list[tuple[int, str]]:
    """A window among the keys, and among the columns."""
    shown = (max(item.at.end for item in select.items), f", {one.text}")
    if select.groups_by_all:
        return [shown]
    last = max(code.at.end for code in select.group_by)
    return [shown, (last, f", {one.text}")]


def _break(text: str, select: Select, start: int, deeper: str = "") -> str:
    """What stands before a further condition: a blank, or in a query of several lines a new one as far in."""
    if "\n" not in text[select.at.start : select.at.end]:
        return " "
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    indent = before[: len(before) - len(before.lstrip())]
    goes_on = text[line:].lstrip()[:4].upper().startswith("AND ")
    new_line = "\r\n" if "\r\n" in text else "\n"
    return f"{new_line}{indent}{'' if goes_on else deeper}"


def _end(text: str, part: FromPart) -> int:
    """Where a part of FROM ends."""
    match part:
        case FromJoin():
            ends = [_end(text, part.left), _end(text, part.right)]
            ends += [] if part.on is None else [part.on.at.end]
            ends += [text.index(")", name.at.end) + 1 for name in part.using]
            return max(ends)
        case FromElements():
            return max(part.at.end, _end(text, part.rows))
        case _:
            return part.at.end
