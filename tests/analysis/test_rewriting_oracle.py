"""Rewrites beside the original query, counted naively on random streams that keep the declarations.

The oracle: entities that leave rows on up to three streams, each at random lags; rows that break a declaration are
taken out by a checker that reads the declarations one by one in plain loops. The original query is every combination of
rows, its conditions tried one by one. The counts are those of the rewriting. For every window the answer may be off by
no more than the rows of the root near the two ends of the window, whatever comes; for a single join or anti-join by no
more than those at one of them, which is epsilon / k of them if they come evenly; where it is exact, not at all. And it
lies between the limits that WITH BOUNDS gives, however rows come.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

from penstock.analysis.rewriting.counts import Rewriting
from penstock.compile import check, parse
from penstock.model.predicates import Bound, Comparison, Difference, Op, Predicate, aliases_of
from penstock.model.query import Query
from penstock.model.schemes import Cooccurs, ForeignKey, PrimaryKey, StreamKey, reference_of
from penstock.model.spans import Window
from tests.measure import size

Row = dict[str, Any]
Rows = dict[str, list[Row]]
SECOND = 1_000_000


def _script(chosen: random.Random) -> str:
    """A chain of two or three streams with random declarations, and a random count over them."""
    names = ["r", "s", "t"][: chosen.randint(2, 3)]
    text = ""
    grouped = chosen.random() < 0.25
    reaches = []
    for place, name in enumerate(names):
        schemes = ["PRIMARY KEY (id)"] if chosen.random() < 0.97 else []
        schemes += ["CHECK (k IS NOT NULL)"] if grouped else []
        if place:
            early, late = chosen.randint(0, 4), chosen.choice([0, 0, 0, 1])
            reaches.append((early, late))
            if chosen.random() < 0.97:
                window = f"WINDOW [-{early} SECONDS, {late} SECONDS]"
                schemes.append(f"FOREIGN KEY (id, k) REFERENCES {names[place - 1]} (id, k) {window}")
        for other in names[place + 1 :]:
            wide = chosen.randint(2, 12)
            schemes.append(f"STREAM KEY (k) SPANS {other} WINDOW [-{chosen.randint(0, 3)} SECONDS, {wide} SECONDS]")
        parts = ", ".join(["k BIGINT", "v INT", "id VIRTUAL", "ts TIMESTAMP", "EVENT TIME ts", *schemes])
        text += f"CREATE STREAM {name} ({parts});\n"
    inside, where = [names[0]], []
    since = (0, 0)
    for name, (early, late) in zip(names[1:], reaches, strict=True):
        # A row is tied to the last source of FROM, over the windows of all streams between the two.
        since = since[0] + early, since[1] + late
        most, least = since[0] + chosen.choice([0, 0, 0, 1, -1]), since[1] + chosen.choice([0, 0, 1])
        lag = f"{name}.ts - {inside[-1]}.ts"
        tie = f"{inside[-1]}.k = {name}.k AND {lag} <= INTERVAL '{most}' SECOND AND {lag} >= INTERVAL '-{least}' SECOND"
        kind = chosen.choice(["", "", "EXISTS", "NOT EXISTS"])
        if kind:
            tie += f" AND {name}.v > 0" if chosen.random() < 0.2 else ""
            where.append(f"{kind} (SELECT 1 FROM {name} WHERE {tie})")
        else:
            where.append(tie)
            inside.append(name)
            since = (0, 0)
    if chosen.random() < 0.2:
        where.append(f"{chosen.choice(inside)}.v > 0")
    root = chosen.choice(inside)
    period = chosen.choice([6, 10, 20])
    return (
        f"{text}SELECT window({root}.ts, '{period} seconds').start AS tb, count(*) AS n FROM {', '.join(inside)} "
        f"WHERE {' AND '.join(where)} GROUP BY window({root}.ts, '{period} seconds'){f', {root}.k' if grouped else ''};"
    )


def _streams(chosen: random.Random, query: Query) -> Rows:
    """Random rows of entities, without those that break a declaration."""
    rows: Rows = {source.stream.name: [] for source in query.all_sources}
    for entity in range(chosen.randint(5, 25)):
        at = chosen.randint(0, 60 * 4) * SECOND // 4
        k = chosen.randint(0, 4)
        for name in rows:
            if chosen.random() < 0.85:
                null = not query.group_by[1:] and chosen.random() < 0.05
                rows[name].append({"id": entity, "k": None if null else k, "v": chosen.randint(-1, 2), "ts": at})
            at += chosen.randint(-4, 16) * SECOND // 4
    while (row := _breaking(rows, query)) is not None:
        rows[row[0]].remove(row[1])
    return rows


def _within(window: Window | None, lag: int) -> bool:
    low, high = (window.low, window.high) if window is not None else (None, None)
    return (low is None or lag >= low.ticks) and (high is None or lag <= high.ticks)


def _breaking(rows: Rows, query: Query) -> tuple[str, Row] | None:
    """A row that breaks a declaration."""
    for source in query.all_sources:
        name = source.stream.name
        for scheme, row in itertools.product(source.stream.schemes, rows[name]):
            if isinstance(scheme, PrimaryKey):
                if sum(other["id"] == row["id"] for other in rows[name]) > 1:
                    return name, row
                continue
            reference = reference_of(scheme)
            if reference is None or reference.stream not in rows:
                continue
            own = [row[c] for c, _ in reference.pairs]
            agreeing = [
                o for o in rows[reference.stream] if None not in own and own == [o[c] for _, c in reference.pairs]
            ]
            match scheme:
                case ForeignKey():
                    if None not in own and not any(_within(scheme.window, o["ts"] - row["ts"]) for o in agreeing):
                        return name, row
                case StreamKey():
                    for o in agreeing:
                        if _within(scheme.window, o["ts"] - row["ts"]) and any(
                            o[c] != row[c] for c in ("id", "k", "v")
                        ):
                            return name, row
                case Cooccurs():
                    raise AssertionError(scheme)
    return None


def _holds(predicate: Predicate, rows: dict[str, Row]) -> bool:
    match predicate:
        case Comparison(left=left, op=Op.EQ, right=right):
            one, other = rows[left.alias][left.column], rows[right.alias][right.column]
            return one is not None and one == other
        case Difference(minuend=later, subtrahend=earlier, op=op, span=span):
            lag = rows[later.alias][later.column] - rows[earlier.alias][earlier.column]
            return bool(lag <= span.ticks if op is Op.LE else lag >= span.ticks)
        case Bound(column=column, constant=constant):
            return bool(rows[column.alias][column.column] > constant.value)
        case _:
            raise AssertionError(predicate)


Group = tuple[int, int | None]
"""A window, and the value of the further group, if there is one."""


def _group(query: Query, row: Row, made: Rewriting) -> Group:
    return row["ts"] // made.period, row["k"] if query.group_by[1:] else None


def _naive(query: Query, rows: Rows, made: Rewriting) -> Counter[Group]:
    """The original query, combination by combination."""
    found: Counter[Group] = Counter()
    names = [source.alias for source in query.sources]
    for combination in itertools.product(*(rows[name] for name in names)):
        together = dict(zip(names, combination, strict=True))
        if not all(_holds(p, together) for p in query.where):
            continue
        for existence in query.existences:
            other = existence.source.alias
            exists = any(all(_holds(p, {**together, other: row}) for p in existence.condition) for row in rows[other])
            if exists is existence.negated:
                break
        else:
            found[_group(query, together[made.root], made)] += 1
    return found


def _counted(query: Query, rows: Rows, made: Rewriting, alias: str) -> list[Row]:
    """The rows of a source that the rewriting counts."""
    negated = {e.source.alias: e.condition for e in query.existences if e.negated}
    conditions = negated.get(alias, [p for p in query.predicates if not aliases_of(p) & set(negated)])
    own = [p for p in conditions if aliases_of(p) == {alias}]
    needed = [ref.column for p in conditions for ref in p.columns if ref.alias == alias]
    shown = [row for row in rows[alias] if all(row[c] is not None for c in needed)]
    assert any("k IS NOT NULL" in text for text in made.source(alias).conditions) is ("k" in needed)
    return [row for row in shown if all(_holds(p, {alias: row}) for p in own)]


def _near(rows: list[Row], group: Group, made: Rewriting, end: int) -> int:
    """The root's rows so near to an end of a window that their match may lie beyond it."""
    late = max(max(source.high, 0) for source in made.sources)
    early = max(max(-source.low, 0) for source in made.sources)
    at = (group[0] + end) * made.period
    return sum(at - late <= row["ts"] < at + early and group[1] in (None, row["k"]) for row in rows)


def _limits(counted: dict[str, list[Row]], group: Group, made: Rewriting) -> tuple[int, int]:
    """What WITH BOUNDS gives: limits from the rows on both sides of each end, in the root and in what crossed."""
    begin, end = group[0] * made.period, (group[0] + 1) * made.period

    def between(alias: str, low: int, high: int) -> int:
        return sum(low <= row["ts"] < high and group[1] in (None, row["k"]) for row in counted[alias])

    def crossed(alias: str) -> tuple[int, int]:
        late, early = max(made.source(alias).high, 0), max(-made.source(alias).low, 0)
        entered = min(between(made.root, begin - late, begin), between(alias, begin, begin + late))
        entered += min(between(made.root, end, end + early), between(alias, end - early, end))
        left = min(between(made.root, end - late, end), between(alias, end, end + late))
        left += min(between(made.root, begin, begin + early), between(alias, begin - early, begin))
        return entered, left

    entered, left = crossed(made.counted)
    inside = between(made.counted, begin, end)
    low, high = inside - entered, min(between(made.root, begin, end), inside + left)
    if made.removed is not None:
        entered, left = crossed(made.removed)
        inside = between(made.removed, begin, end)
        low, high = low - inside - left, high - max(inside - entered, 0)
    return max(low, 0), max(high, 0)


@pytest.mark.measure
def test_every_rewrite_is_within_its_bound() -> None:
    chosen = random.Random(11)
    fired = inexact = windows = nonzero = grouped = narrow = 0
    for _ in range(size(250, 4000)):
        script = parse(_script(chosen))
        (query,) = script.queries
        made = check(script).rewrite.rewriting
        if made is None:
            continue
        fired += 1
        grouped += bool(made.group_names)
        for _ in range(4):
            rows = _streams(chosen, query)
            truth = _naive(query, rows, made)
            counted = {source.alias: _counted(query, rows, made, source.alias) for source in made.sources}
            buckets = {alias: Counter(_group(query, row, made) for row in found) for alias, found in counted.items()}
            for group in set(truth) | {bucket for found in buckets.values() for bucket in found}:
                answer = min(buckets[made.root][group], buckets[made.counted][group])
                answer -= 0 if made.removed is None else buckets[made.removed][group]
                error = abs(max(answer, 0) - truth[group])
                ends = [_near(counted[made.root], group, made, end) for end in (0, 1)]
                limit = sum(ends) if made.counted != made.root and made.removed is not None else max(ends)
                case = (query, rows, group, answer, truth[group], ends)
                assert error <= (0 if made.is_exact else sum(ends)), case
                if all(source.low >= 0 for source in made.sources):
                    assert error <= limit, case
                low, high = _limits(counted, group, made)
                assert low <= truth[group] <= high, case
                windows += 1
                narrow += high - low < sum(ends)
                inexact += error > 0
                nonzero += truth[group] > 0
    print(f"{fired} rewrites ({grouped} with groups), {windows} windows, {nonzero} with results, {inexact} not exact")
    assert fired > size(30, 500)
    assert grouped > size(5, 80)
    assert nonzero > fired
    assert 0 < inexact < windows
    assert narrow > 0
