"""Which declaration of a view could no input keep together with what holds of its rows anyway?

An input that gives the view no row keeps everything that may be declared of it, and a CHECK passes where its columns
are NULL. So what is meant are inputs that give it a row with values in the columns that are named, and, where a
declaration is about pairs of rows, inputs with a pair. A declaration is contradicted if, beside what follows from below
and those before it,

- no such row can be: a column is left without a value, or differences of columns exclude each other
  (`CHECK (price < 3)` of rows `WHERE price > 5`);
- no pair can be: COOCCURS and FOLLOWS WITHIN a span say in which window the other one's event time lies, of rows that
  agree on some columns. Two windows of one pair of streams without a common point leave no pair that agrees on the
  columns of both (`WINDOW [0, 5 SECONDS]` and `WINDOW [10 SECONDS, *]`). What the other stream says of this one counts
  too, turned about;
- the partner that must be there cannot be: the window of a FOREIGN KEY and one of these have no common point.

Theorem: what is found is a contradiction. The conditions that are used hold of every such row, and the facts that they
are asked for (domains, differences) find nothing left only where nothing is. A window is used for pairs that agree on
all columns that its promise names.

Not decided, so no error: conditions that only Spark reads; keys and orders, which a row alone never breaks; whatever
hangs on several rows; declarations of a stream, which nothing follows for from below. Where the SELECT of a view gives
no row by itself, nothing is said of what is declared of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from penstock.analysis.blocks.promised_values import promised_values
from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.facts.together import Facts
from penstock.analysis.reasons import Because, Told
from penstock.model.clauses import Output, Source, Union
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, NullTest, Op, Predicate, renamed
from penstock.model.query import Query
from penstock.model.relation import Block, Leaf
from penstock.model.schemes import Check, Cooccurs, Follows, ForeignKey, Scheme, reference_of
from penstock.model.spans import Span
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.records import record

_REAL = (Kind.FLOAT, Kind.DOUBLE)
_OF_VALUES = (Check, Cooccurs, Follows, ForeignKey)


@record
class Contradiction:
    """A declaration of a view that no input keeps beside others."""

    place: int
    """Which of the declarations of the view it is."""
    because: tuple[Told, ...]
    """What they are."""
    other: str | None = None
    """The stream whose rows could never meet one of the view; None where the view could have no row."""


def contradictions(declared: Stream, below: Query | Union, others: Iterable[Stream] = ()) -> tuple[Contradiction, ...]:
    """The declarations of a view that nothing could keep; `others` are the streams that may speak of it."""
    if not any(isinstance(scheme, _OF_VALUES) for scheme in declared.schemes):
        return ()
    known = promised_values(replace(declared, schemes=()), below)
    if _no_row(known):
        return ()
    told = [said for scheme in known.schemes for said in _of_pairs(scheme)]
    told += [said for other in others if other.name != declared.name for said in _turned(other, declared.name)]
    found: list[Contradiction] = []
    for place, scheme in enumerate(declared.schemes):
        if scheme.text in {other.text for other in known.schemes}:
            continue  # It follows anyway.
        beside = replace(known, schemes=(*known.schemes, scheme))
        if isinstance(scheme, Check) and (because := _no_row(beside)):
            found.append(Contradiction(place, because))
            continue
        own = list(_of_pairs(scheme))
        excluded = [(one.other, other.text) for one in own for other in told if one.excludes(other)]
        if excluded:
            texts = tuple(dict.fromkeys(text for _, text in excluded))
            found.append(Contradiction(place, texts, excluded[0][0]))
            continue
        known, told = beside, told + own
    return tuple(found)


# A row


def _no_row(stream: Stream) -> tuple[Told, ...]:
    """Why a stream can have no row with values where they are spoken of; nothing if it may."""
    checked = [p for scheme in stream.schemes if isinstance(scheme, Check) for p in scheme.condition]
    nulls = {p.column.column for p in (*stream.where, *checked) if isinstance(p, NullTest) and p.is_null}
    for name in sorted(nulls):
        if not declared_domain(stream, name).nullable:
            tests = tuple(str(p) for p in (*stream.where, *checked) if {ref.column for ref in p.columns} == {name})
            return (Because.NO_VALUE_LEFT((name,), tests),)
    conditions = [p for p in (*stream.where, *checked) if not nulls & {ref.column for ref in p.columns}]
    return _set_apart(stream, conditions) or _of_a_row(stream, conditions).of().impossible


def _set_apart(stream: Stream, conditions: Iterable[Predicate]) -> tuple[Told, ...]:
    """Two limits of a column without steps that leave nothing between them.

    Numbers are compared as the DOUBLEs that Spark makes of them. A TIMESTAMP that is written is one of the session's
    clocks, which are put forward and back: two of them are told apart by a day.
    """
    limits = [p for p in conditions if isinstance(p, Bound)]
    for low in (p for p in limits if p.op in (Op.GT, Op.GE, Op.EQ)):
        for high in (p for p in limits if p.op in (Op.LT, Op.LE, Op.EQ) and p.column == low.column):
            kind = stream.type_of(low.column.column)
            apart = None if kind is None else _above(low.constant.value, high.constant.value, kind)
            is_strict = Op.GT in (low.op, high.op) or Op.LT in (low.op, high.op)
            if apart is not None and (apart > 0 or (apart == 0 and is_strict)):
                return (Because.NO_VALUE_LEFT((low.column.column,), (str(low), str(high))),)
    return ()


def _above(one: object, other: object, kind: DataType) -> float | None:
    """By how much one constant lies above another, as a column of that type is compared; None if that is not known."""
    if kind.kind in _REAL and isinstance(one, Decimal) and isinstance(other, Decimal):
        return float(one) - float(other)
    is_time = kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
    if not is_time or not isinstance(one, dt.datetime) or not isinstance(other, dt.datetime):
        return None
    if (one.tzinfo is None) != (other.tzinfo is None):
        return None
    return (one - other) / dt.timedelta(days=1) - 1


def _of_a_row(stream: Stream, conditions: Iterable[Predicate]) -> Facts:
    """What is known of a row of which these conditions hold."""
    name = stream.name
    where = tuple(replace(renamed(p, lambda ref: ColumnRef(name, ref.column)), text="") for p in conditions)
    outputs = (Output(stream.columns[0].name, ColumnRef(name, stream.columns[0].name)),)
    plain = Stream(name, stream.columns)
    return Facts(Query.select(name, (Source(plain, name),), Block(Leaf(name), outputs, where)))


# Pairs


@record
class _Said:
    """The event time of rows of another stream that agree on some columns lies so far from that of this one."""

    other: str
    pairs: frozenset[tuple[str, str]]
    low: int | None
    high: int | None
    text: str
    is_partner: bool = False
    """Whether it is said of one row of them, which must be there, and not of all."""

    def excludes(self, said: _Said) -> bool:
        """Whether no pair can be that both are said of."""
        apart = _is_below(self.high, said.low) or _is_below(said.high, self.low)
        if not apart or self.other != said.other:
            return False
        # Of a partner it is known that it agrees on its own columns; any other pair may agree on all of both.
        fewer, more = said.pairs <= self.pairs, self.pairs <= said.pairs
        match self.is_partner, said.is_partner:
            case True, True:
                return False
            case True, False:
                return fewer
            case False, True:
                return more
            case _:
                return fewer or more


def _is_below(high: int | None, low: int | None) -> bool:
    return high is not None and low is not None and high < low


def _of_pairs(scheme: Scheme) -> Iterator[_Said]:
    """What a declaration says of pairs with another stream."""
    reference = reference_of(scheme)
    if reference is None:
        return
    pairs = frozenset(reference.pairs)
    match scheme:
        case Cooccurs(window=window) | ForeignKey(window=window) if window is not None:
            low, high = (None if end is None else end.ticks for end in (window.low, window.high))
            yield _Said(reference.stream, pairs, low, high, scheme.text, isinstance(scheme, ForeignKey))
        case Follows(within=Span() as span):
            yield _Said(reference.stream, pairs, None, span.ticks, scheme.text)
        case _:
            pass


def _turned(other: Stream, name: str) -> Iterator[_Said]:
    """What another stream says of pairs with a view, as the view would say it."""
    for scheme in other.schemes:
        for said in _of_pairs(scheme):
            if said.other == name and not said.is_partner:
                low, high = (None if end is None else -end for end in (said.high, said.low))
                pairs = frozenset((theirs, own) for own, theirs in said.pairs)
                yield _Said(other.name, pairs, low, high, scheme.on(other.name))
