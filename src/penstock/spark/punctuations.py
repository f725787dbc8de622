"""Punctuation rows on their way: Spark says which rows they are, the packer takes them out and sends them on.

A row that satisfies some WHEN of its stream is no data, whether the query has a use for it or not; one that is of use
goes to every cell along the line that may hold a partner (`input/routing.py`). Each condition is one boolean column,
evaluated by Spark beside the filters; NULL means data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.plan.plan import Plan
from penstock.runtime import Punctuating, apart, punctuation_promises

PUNCTUATION = "__ps_punctuation"
"""Whether a row satisfies some WHEN."""


def conditions(plan: Plan, stream: str) -> Iterator[tuple[str | None, str, str]]:
    """The boolean columns to add: the alias that the condition names columns by, the column's name, the condition."""
    whens = [f"({rows.when})" for rows in plan.punctuations if rows.stream == stream]
    if not whens:
        return
    yield None, PUNCTUATION, " OR ".join(whens)
    for number, promise in punctuation_promises(plan, stream):
        if _column(plan, stream, number) != PUNCTUATION:
            assert promise.when is not None
            yield promise.alias, _column(plan, stream, number), promise.when


def _column(plan: Plan, stream: str, number: int) -> str:
    """The column that says which rows make a promise: that of the one WHEN, where nothing sets them apart."""
    whens = [f"({rows.when})" for rows in plan.punctuations if rows.stream == stream]
    return PUNCTUATION if whens == [plan.promises[number].when] else f"__ps_makes_{number}"


def take_out(plan: Plan, stream: str, piece: Any) -> tuple[Any, dict[int, Any]]:
    """The data rows of a piece, and its punctuations by the number of the promise that they make."""
    if PUNCTUATION not in piece.column_names:
        return piece, {}
    made = {number: _column(plan, stream, number) for number, _ in punctuation_promises(plan, stream)}
    told = Punctuating(piece.column(PUNCTUATION), {number: piece.column(column) for number, column in made.items()})
    rows, _, punctuations = apart(plan, stream, piece.drop_columns([PUNCTUATION]), {}, told)
    return rows, punctuations
