"""Streams that adhere to a constraint as closely as asked, by the paper's description (3.5, 4.4, 5.4, 6.4, F.3).

A stream is laid out on one line of time, a unit of which is one row of the slowest stream; the interleaving of all is
the order of that line, and `seq`, by which every stream arrives, is a row's place in it. Multiplicity m gives a parent
stream m rows a unit. Distances are drawn uniformly from 0 to k, as the paper draws them. What they come to once the
rows are interleaved is counted from the rows themselves (`clustering`, `scrambling`, `join_distance`), and that is
what is declared: the largest is the k that holds, and no smaller one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Degree = Callable[[Floats], Floats]
"""The k that is in force at each time of the line."""

LAG = 1_000
"""A parent row whose child came before it refers to one of the last so many."""


@dataclass(frozen=True)
class Made:
    """The streams of one experiment: the columns of each, in the order of arrival; `seq` among them."""

    columns: Mapping[str, Mapping[str, Ints]]

    @property
    def rows(self) -> int:
        """Rows of all streams."""
        return sum(len(columns["seq"]) for columns in self.columns.values())

    def first(self, rows: int) -> Made:
        """What so many rows of all streams together are: the streams go on, and what is kept is as it is on the way."""
        found: dict[str, Mapping[str, Ints]] = {}
        for name, columns in self.columns.items():
            count = int(np.searchsorted(columns["seq"], rows))
            found[name] = {column: values[:count] for column, values in columns.items()}
        return Made(found)


def interleaved(lines: Mapping[str, tuple[Floats, Mapping[str, Ints]]]) -> Made:
    """Put rows in the order of their times; of rows at one time, a stream's that is named first come first."""
    times = np.concatenate([time for time, _ in lines.values()])
    rank = np.concatenate([np.full(len(time), n) for n, (time, _) in enumerate(lines.values())])
    order = np.lexsort((rank, times))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found: dict[str, Mapping[str, Ints]] = {}
    start = 0
    for name, (time, columns) in lines.items():
        seq = place[start : start + len(time)]
        start += len(time)
        by = np.argsort(seq)
        found[name] = {"seq": seq[by], **{column: values[by] for column, values in columns.items()}}
    return Made(found)


def constant(k: int) -> Degree:
    """The same k all along."""
    return lambda time: np.full(len(time), float(k))


def varying(units: int, low: int, high: int) -> Degree:
    """Figures 5, 7 and 9: no change, a gradual rise, a gradual fall, a quick rise, a quick fall."""
    at = np.array([0.0, 0.2, 0.4, 0.45, 0.65, 0.7, 0.71, 0.85, 0.86, 1.0]) * units
    k = np.array([low, low, high, high, low, low, high, high, low, low], np.float64)
    return lambda time: np.interp(time, at, k)


def references(units: int, multiplicity: int, degree: Degree, chance: np.random.Generator) -> tuple[Floats, Ints]:
    """The times of parent rows, and the child that each names: its join distance is uniform in 0 … k.

    Children come one a unit, child n at time n. A distance d > 0 names the d-th child to come; 0 one of the last LAG.
    """
    time = np.arange(units * multiplicity) / multiplicity + 0.5 / multiplicity
    come = np.ceil(time).astype(np.int64)
    distance = np.floor(chance.random(len(time)) * (degree(time) + 1)).astype(np.int64)
    past = come - 1 - chance.integers(0, LAG, len(time))
    return time, np.where(distance > 0, come + distance - 1, np.maximum(past, 0))


def spread(units: int, multiplicity: int, degree: Degree, chance: np.random.Generator) -> tuple[Floats, Ints]:
    """Times and values of rows, `multiplicity` a value; value n begins at time n, and its rows span up to k rows.

    The span of each value is uniform in 0 … k rows of this stream, so clustering and scrambling distances are too.
    """
    start = np.arange(units, dtype=np.float64)
    span = chance.random(units) * degree(start) / multiplicity
    offset = chance.random((units, multiplicity))
    offset[:, 0], offset[:, -1] = 0.0, 1.0
    time = start[:, None] + 0.1 + offset * span[:, None]
    value = np.repeat(np.arange(units), multiplicity)
    return time.ravel(), value


def scrambled(units: int, degree: Degree, chance: np.random.Generator) -> Floats:
    """When each of the children 0, 1, … comes: late by up to k of their own rows, uniformly."""
    start = np.arange(units, dtype=np.float64)
    return start + chance.random(units) * degree(start)


def clustering(values: Ints) -> int:
    """The k of CA(k): the most rows of other values between the first and the last row of one."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    last = np.append(first[1:], len(ordered)) - 1
    return int(np.max(order[last] - order[first] - (last - first)))


def scrambling(values: Ints) -> int:
    """The k of OA(k): the most rows from one to a later, smaller one."""
    risen = np.maximum.accumulate(values)
    first_larger = np.searchsorted(risen, values, "right")
    return int(np.max(np.maximum(np.arange(len(values)) - first_larger, 0)))


def join_distance(parent: Mapping[str, Ints], by: str, child: Mapping[str, Ints], on: str) -> int:
    """The k of RIDS(k): the most rows of the child stream after a parent row, up to and with the row that it names."""
    order = np.argsort(child[on], kind="stable")
    place = np.minimum(np.searchsorted(child[on][order], parent[by]), len(order) - 1)
    met = child[on][order][place] == parent[by]
    come = np.searchsorted(child["seq"], parent["seq"])
    return int(np.max(np.where(met, order[place] + 1 - come, 0), initial=0))
