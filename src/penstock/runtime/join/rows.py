"""Rows of a part of FROM: for each of its streams the ids of stored tuples, ABSENT where a row has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import ROW, Plan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids
from penstock.runtime.match.matching import Partial
from penstock.runtime.state.synopsis import Synopsis

Rows = Partial

ABSENT = -1


@dataclass(frozen=True)
class GivenRows:
    """Rows that a node gives, and which of them may be none, for what they are made of is in doubt: unless None."""

    rows: Rows
    unsure: Bools | None = None


def count(rows: Rows) -> int:
    """How many there are."""
    return len(next(iter(rows.values())))


def take(rows: Rows, places: Ints | Bools) -> Rows:
    """Some of them."""
    return {alias: ids[places] for alias, ids in rows.items()}


def padded(rows: Rows, aliases: Iterable[str]) -> Rows:
    """The rows with more streams, all absent."""
    size = count(rows)
    return {alias: rows.get(alias, np.full(size, ABSENT, np.int64)) for alias in aliases}


def nothing(aliases: Iterable[str]) -> Rows:
    """No rows."""
    return {alias: empty_ids() for alias in aliases}


def together(pieces: list[Rows], aliases: tuple[str, ...]) -> Rows:
    """All rows of the pieces, which must be over the same streams."""
    if len(pieces) == 1:
        return pieces[0]
    return {a: np.concatenate([piece[a] for piece in pieces]) for a in aliases} if pieces else nothing(aliases)


def given_together(pieces: list[GivenRows], aliases: tuple[str, ...]) -> GivenRows:
    """The same of what nodes give."""
    rows = together([piece.rows for piece in pieces], aliases)
    if all(piece.unsure is None for piece in pieces):
        return GivenRows(rows)
    sure = [np.zeros(count(p.rows), np.bool_) if p.unsure is None else p.unsure for p in pieces]
    return GivenRows(rows, np.concatenate(sure))


def values(synopsis: Synopsis, column: str, ids: Ints) -> Any:
    """A column of the rows as an Arrow array, NULL where the stream is absent."""
    there = ids != ABSENT
    if there.all():
        return synopsis.arrow(column, ids)
    kind = synopsis.kind(column) or pa.null()
    if not there.any():
        return pa.nulls(len(ids), kind)
    places = np.cumsum(there) - 1
    return synopsis.arrow(column, ids[there]).take(pa.array(places, mask=~there))


def result_rows(plan: Plan, synopses: Mapping[str, Synopsis], partial: Mapping[str, Ints]) -> Any:
    """The rows of combinations, as the plan gives them out; ROW stands for them where it gives no column."""
    size = len(next(iter(partial.values())))
    columns = {o.name: values(synopses[o.alias], o.column, partial[o.alias]) for o in plan.outputs}
    return pa.table(columns or {ROW: pa.array(np.ones(size, np.bool_))})


def no_result_rows(plan: Plan, synopses: Mapping[str, Synopsis]) -> Any:
    """The same without any row; a type that no row has told yet is that of NULL."""
    kinds = [(o.name, synopses[o.alias].kind(o.column) or pa.null()) for o in plan.outputs]
    return pa.schema(kinds or [(ROW, pa.bool_())]).empty_table()


def by_presence(rows: Rows) -> Iterator[tuple[Rows, Ints]]:
    """The rows parted by which streams are there, each part with those streams alone; and their places."""
    size = count(rows)
    if not size:
        return
    shape = np.zeros(size, np.int64)
    for number, ids in enumerate(rows.values()):
        shape |= (ids != ABSENT).astype(np.int64) << number
    for found in np.unique(shape):
        places = np.flatnonzero(shape == found)
        yield {a: ids[places] for n, (a, ids) in enumerate(rows.items()) if found >> n & 1}, places
