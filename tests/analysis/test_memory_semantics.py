"""MEMORY by what it means, on random small queries.

Where it says that constant memory suffices, the rows that the synopses keep must give the answer of all rows. Where it
says that it does not, every two sets of rows of the growing input must be told apart by some rows to come, so that any
algorithm is in a state of its own after each set. Both by the naive evaluator, which knows nothing of the analysis.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import prod
from statistics import median

import pytest

from penstock.analysis.memory import growing_copies, memory_finding, memory_witness
from penstock.analysis.memory.witness import MemoryWitness, Row
from penstock.model.clauses import Aggregate
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound
from penstock.model.query import Query
from tests.analysis.merged_rows import Values, merged
from tests.analysis.reference import Arrival, Evaluator, holds
from tests.analysis.test_memory_lto import beside_itself, built, plain_query
from tests.measure import size

COPIES = 3


def arrivals(rows: Sequence[tuple[str, Sequence[tuple[str, object]]]], query: Query) -> list[Arrival]:
    """Rows of a witness; what they leave out is NULL."""
    columns = {s.stream.name: [c.name for c in s.stream.columns] for s in query.all_sources}
    found = []
    for number, (stream, values) in enumerate(rows):
        known = dict(values)
        row = tuple((name, value) for name in columns[stream] if isinstance(value := known.get(name), int | None))
        assert len(row) == len(columns[stream])
        found.append(Arrival(stream, number, row))
    return found


def answer(query: Query, history: Sequence[Arrival]) -> Counter[tuple[object, ...]]:
    """What the query gives over a history: rows, each with its number; or groups, each with its aggregates."""
    found: Counter[tuple[object, ...]] = Counter()
    groups: dict[tuple[object, ...], list[dict[str, Arrival | None]]] = {}
    for combined, count in Evaluator(query, history).answer().items():
        there = dict(combined)
        keys = query.group_by if query.is_grouped else tuple(o.value for o in query.outputs)
        row = tuple(_value(there, key) for key in keys if isinstance(key, ColumnRef))
        found[row] += count
        groups.setdefault(row, []).extend([there] * count)
    if query.is_grouped:
        asked = [o.value for o in query.outputs if isinstance(o.value, Aggregate)]
        return Counter({(*row, *(_aggregate(a, members) for a in asked)): 1 for row, members in groups.items()})
    return Counter(set(found)) if query.distinct else found


def _value(there: dict[str, Arrival | None], ref: ColumnRef) -> int | None:
    arrival = there[ref.alias]
    assert arrival is not None
    return arrival.value(ref.column)


def _aggregate(aggregate: Aggregate, members: list[dict[str, Arrival | None]]) -> object:
    assert isinstance(aggregate.argument, ColumnRef)
    values = [v for m in members if (v := _value(m, aggregate.argument)) is not None]
    match aggregate.function:
        case "count":
            return len(set(values)) if aggregate.distinct else len(values)
        case "sum":
            return sum(values)
        case "avg":
            return sum(values) / len(values) if values else None
        case "median":
            return median(values) if values else None
        case "min":
            return min(values, default=None)
        case _:
            return max(values, default=None)


def _kinds(draw: random.Random, kind: str) -> Query:
    return built(plain_query(draw, kind == "distinct", kind == "grouped"))


def _continuations(query: Query, copies: MemoryWitness, beside: Sequence[Row]) -> list[tuple[Row, ...]] | None:
    """Rows to come that may tell states apart: the rest of a copy, rows that come again, and both.

    A mean needs two values to take the mean of: the rest of two copies, in one group if their own values would put them
    into two; or the rest of one and a row beside the set with another value. Where both values meet all that is there,
    they weigh alike and the mean tells nothing: so the rest of two copies, and a third value that meets less of it. A
    median needs rows that come again and again, also from beside the set. None where a sum cannot tell how much it adds
    up, since all that it adds is 0.
    """
    functions = {o.value.function: o.value for o in query.outputs if isinstance(o.value, Aggregate)}
    for function in ("sum", "avg"):
        argument = functions[function].argument if function in functions else None
        if isinstance(argument, ColumnRef):
            rows = [*copies.rows, *(row for probe in copies.probes for row in probe)]
            if any((argument.column, 0) in values for name, values in rows if name == argument.alias):
                return None
    later: list[tuple[Row, ...]] = [*copies.probes, *((row,) for row in copies.rows)]
    if query.is_grouped:
        again = range(1, 4 if "median" in functions else 2)
        later += [(*probe, *([row] * times)) for probe in copies.probes for row in beside for times in again]
    if "avg" in functions:
        argument = functions["avg"].argument
        assert isinstance(argument, ColumnRef)
        pairs = [
            (*one, *_raised(argument, other, by)) for one, other in combinations(copies.probes, 2) for by in (0, 1, -1)
        ]
        later += [
            (*probe, *_raised(argument, [row], by)) for probe in copies.probes for row in beside for by in (1, -1)
        ]
        later += [
            (*one, *other, third)
            for one, other in combinations(copies.probes, 2)
            for third in _elsewhere(argument, one, [*copies.rows, *one, *other])
        ]
        later += [*pairs, *(_in_the_group_of(query, of, pair) for of in copies.probes for pair in pairs)]
    return later


def _raised(ref: ColumnRef, rows: Sequence[Row], by: int) -> tuple[Row, ...]:
    """The same rows with other values of one column."""
    return tuple(
        (
            name,
            tuple(
                (column, value + by if (name, column) == (ref.alias, ref.column) and isinstance(value, int) else value)
                for column, value in row
            ),
        )
        for name, row in rows
    )


def _elsewhere(ref: ColumnRef, rows: Sequence[Row], among: Sequence[Row]) -> Iterator[Row]:
    """The rows that hold a column, with another value of it, and in another of their columns one that lies nearby."""
    known = {value for _, row in among for _, value in row if isinstance(value, int)}
    nearby = sorted({value + by for value in known for by in (-1, 0, 1)})
    for name, row in _raised(ref, [row for row in rows if row[0] == ref.alias], 1):
        for changed, value in product([column for column, _ in row if column != ref.column], nearby):
            yield name, tuple((column, value if column == changed else own) for column, own in row)


def _in_the_group_of(query: Query, one: Sequence[Row], rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows that take the values of the group columns from those of `one`."""
    keys = {(ref.alias, ref.column) for ref in query.group_by if isinstance(ref, ColumnRef)}
    values = {(name, column): value for name, row in one for column, value in row if (name, column) in keys}
    return tuple(
        (name, tuple((column, values.get((name, column), value)) for column, value in row)) for name, row in rows
    )


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct", "grouped"])
def test_rows_to_come_tell_every_two_sets_of_a_growing_input_apart(kind: str) -> None:
    draw = random.Random(f"witness {kind}")
    shown = 0
    while shown < size(60, 1500):
        query = _kinds(draw, kind)
        if memory_finding(query).bounded is not False:
            continue
        found = growing_copies(query, COPIES + 2)
        assert found is not None
        witness = memory_witness(query, COPIES + 2)
        assert witness is not None
        assert witness.rows == found.rows
        copies = replace(found, rows=found.rows[1:-1], probes=found.probes[1:-1])
        later = _continuations(query, copies, found.rows)
        if later is None:
            continue
        shown += 1
        states = set()
        for number in range(COPIES + 1):
            for chosen in combinations(copies.rows, number):
                before = answer(query, arrivals(chosen, query))
                after = [answer(query, arrivals([*chosen, *rows], query)) for rows in later]
                news = [frozenset((given - before).items()) for given in after]
                states.add((tuple(news), frozenset(before.items()) if query.is_grouped else None))
        assert len(states) == 2**COPIES, query


@pytest.mark.measure
@pytest.mark.parametrize("grouped", [False, True])
def test_so_do_those_of_a_stream_joined_with_itself_with_more_rows_than_the_check_tries(grouped: bool) -> None:
    """The check runs a few rows of the input and says that any number is told apart: here are more of them."""
    draw = random.Random(f"witness itself {grouped}")
    shown = 0
    while shown < size(4, 100):
        query = beside_itself(draw, grouped)
        if memory_finding(query).bounded is not False or "avg" in str(query.outputs):
            continue
        found = growing_copies(query, len(query.all_sources) + 5)
        assert found is not None
        if "sum" in str(query.outputs) and any(value == 0 for _, values in found.rows for _, value in values):
            continue  # a sum does not tell a row that adds nothing
        later = [*found.probes, *((row,) for row in found.rows)]
        if grouped:
            again = range(1, len(found.rows) if "median" in str(query.outputs) else 2)
            later += [(*probe, *([row] * times)) for times in again for probe in found.probes for row in found.rows]
        rows = found.rows[1:-1]
        alike = [[chosen for many in range(len(rows) + 1) for chosen in combinations(rows, many)]]
        for coming in [(), *later]:
            alike = [part for group in alike for part in _told_apart(query, group, coming) if len(part) > 1]
        assert not alike, query
        shown += 1


def _told_apart(query: Query, sets: Sequence[tuple[Row, ...]], rows: Sequence[Row]) -> list[list[tuple[Row, ...]]]:
    """The sets, by what some rows to come add to the answer; the answer so far counts where it is kept."""
    parts: dict[object, list[tuple[Row, ...]]] = {}
    for chosen in sets:
        before = answer(query, arrivals(chosen, query)) if rows or query.is_grouped else Counter()
        after = answer(query, arrivals([*chosen, *rows], query)) if rows else before
        said = frozenset((after - before).items()), frozenset(before.items()) if query.is_grouped else None
        parts.setdefault(said, []).append(chosen)
    return list(parts.values())


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct"])
def test_what_the_synopses_keep_gives_the_answer_of_all_rows(kind: str) -> None:
    draw = random.Random(f"synopses {kind}")
    shown = 0
    while shown < size(60, 1500):
        query = _kinds(draw, kind)
        finding = memory_finding(query)
        if finding.bounded is not True or finding.never or len(query.all_sources) < 2:
            continue
        shown += 1
        synopses = {synopsis.alias: synopsis for synopsis in finding.synopses}
        everything: list[Arrival] = []
        kept: list[tuple[Arrival, int]] = []
        for source in query.all_sources:
            rows: list[Values] = [
                {column.name: draw.randint(1, 12) for column in source.stream.columns} for _ in range(7)
            ]
            arrived = [Arrival(source.alias, number, tuple(row.items())) for number, row in enumerate(rows)]
            everything += arrived
            filters = [p for p in query.where if isinstance(p, Bound) and p.column.alias == source.alias]
            passing = [dict(a.row) for a in arrived if all(holds(p, {source.alias: a}) for p in filters)]
            for number, (row, count) in enumerate(merged(synopses[source.alias], passing)):
                kept.append((Arrival(source.alias, number, tuple(row.items())), count))
        expected = answer(query, everything)
        counts = dict(kept)
        found: Counter[tuple[object, ...]] = Counter()
        for combined, times in Evaluator(query, [row for row, _ in kept]).answer().items():
            there = dict(combined)
            given = tuple(_value(there, o.value) for o in query.outputs if isinstance(o.value, ColumnRef))
            found[given] += times * prod(counts[arrival] for arrival in there.values() if arrival is not None)
        assert (Counter(set(found)) if query.distinct else found) == expected, query
        if query.distinct:
            assert finding.results is not None
            assert len(expected) <= finding.results
