"""A growing input keeps every promise, and its rows stay needed: seen by an evaluator that shares no code with it.

Random inner joins of two or three sources with declarations of every kind. Where `check` says that a stream can never
be purged, the rows of its input are handed to reference.py: the first N of them keep the declarations, for any N that
is tried; and the rows that are still awaited keep them too, come however late, and make a result with the first block.
What `check` calls unbounded must have a witness, of any length, in which the stream has ever more different rows.
"""

from __future__ import annotations

import random

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Row, Unbounded, Witness
from penstock.analysis.witness.purge_witness import Scenario, scenarios
from penstock.model.clauses import RangeWindow
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Auto, Rows, Window
from penstock.model.stream import Stream
from tests.analysis.build import check, number_of, query, source, stream, where
from tests.analysis.reference import Arrival, Evaluator, is_punctuation, keeps_promises
from tests.measure import size

COLUMNS = ("n", "k", "m", "kind")


def _schemes(pick: random.Random, name: str, others: list[str]) -> list[Scheme]:
    found: list[Scheme] = []
    keys = (("k",), ("m",), ("k", "m"))
    if pick.random() < 0.5:
        found.append(Ordered("n", pick.choice((None, Rows(2), number_of(2), Auto()))))
    if pick.random() < 0.15:
        found.append(Ordered(pick.choice("km"), None))
    for columns in pick.sample(keys, pick.choice((0, 0, 1, 2))):
        found.append(Punctuated(columns, (where("kind = 1"),)))
    if pick.random() < 0.2:
        found.append(PrimaryKey(pick.choice(keys)))
    if pick.random() < 0.15:
        found.append(Clustered(pick.choice("km"), pick.choice((None, Rows(1)))))
    if pick.random() < 0.15:
        found.append(check(pick.choice(("m >= 3", "k <= 9", "m <= 4"))))
    for other in others:
        columns = pick.choice(keys)
        match pick.randrange(8):
            case 0:
                found.append(Follows(other, columns, columns, pick.choice((None, Rows(1), Auto(), number_of(1)))))
            case 1:
                found.append(
                    Cooccurs(columns, other, columns, Window(number_of(-1), pick.choice((None, number_of(2)))))
                )
            case 2 if other != name:
                found.append(ForeignKey(columns, other, columns))
            case _:
                pass
    return found


def _query(seed: int) -> Query:
    pick = random.Random(seed)
    names = ["a", "b", "c"][: pick.choice((2, 2, 3))]
    text = ", ".join(f"{c} BIGINT" for c in COLUMNS)
    streams = {n: stream(n, text, *_schemes(pick, n, names), time="n") for n in names}
    if pick.random() < 0.15:
        streams["b"] = streams["a"]
    windows = [RangeWindow(number_of(3)) if pick.random() < 0.15 else None for _ in names]
    conditions = []
    for number, name in enumerate(names[1:], 1):
        other = names[pick.randrange(number)]
        for _ in range(pick.choice((1, 1, 2))):
            ties = [f"{other}.{x} = {name}.{y}" for x, y in ("kk", "mm", "km")]
            bands = [f"{name}.n <= {other}.n + 2", f"{other}.n <= {name}.n + 1", f"{other}.m <= {name}.m"]
            conditions.append(pick.choice([*ties, *ties, *bands]))
    if pick.random() < 0.2:
        conditions.append(pick.choice(("a.k > 5", "a.m = 4", "b.m < 7")))
    members = [source(streams[n], n, w) for n, w in zip(names, windows, strict=True)]
    return query(members, *dict.fromkeys(conditions), select=["a.k", "b.m"], distinct=pick.random() < 0.2)


def _arrivals(rows: list[Row] | tuple[Row, ...]) -> list[Arrival]:
    found = []
    for number, (name, values) in enumerate(rows):
        given = dict(values)
        assert set(given) <= set(COLUMNS)
        plain = tuple((c, v if isinstance(v := given.get(c), int) else None) for c in COLUMNS)
        found.append(Arrival(name, number, plain))
    return found


def _has_partners(streams: list[Stream], history: list[Arrival]) -> bool:
    """FOREIGN KEY: whoever names a row has one, among all rows that came."""
    for child in streams:
        data = [a for a in history if a.stream == child.name and not is_punctuation(child, a)]
        for scheme in child.schemes:
            if isinstance(scheme, ForeignKey):
                (parent,) = [s for s in streams if s.name == scheme.parent]
                rows = [a for a in history if a.stream == parent.name and not is_punctuation(parent, a)]
                known = {tuple(a.value(c) for c in scheme.parent_columns) for a in rows}
                named = [tuple(a.value(c) for c in scheme.columns) for a in data]
                if any(None not in key and key not in known for key in named):
                    return False
    return True


def _is_needed(of: Query, alias: str, scenario: Scenario, streams: list[Stream]) -> None:
    """The rows that complete the first block may come after any number of blocks."""
    blocks = [list(scenario.block(number)) for number in range(1, 7)]
    length = sum(map(len, blocks))
    past = _arrivals(scenario.rows(length))
    rest = [(of.by_alias[a].stream.name, tuple(v.items())) for a, v in scenario.rest(1, 7)]
    future = [Arrival(a.stream, length + a.number, a.row) for a in _arrivals(rest)]
    assert keeps_promises(streams, past)
    assert keeps_promises(streams, [*past, *future])
    assert _has_partners(streams, past)
    assert _has_partners(streams, [*past, *future])
    old = past[: len(blocks[0])]
    met = [dict(combined) for combined in Evaluator(of, [*past, *future]).answer()]
    assert any(c[alias] in old and any(new in c.values() for new in future) for c in met)


def _grows(of: Query, alias: str, witness: Witness) -> int:
    """How many different rows of a stream there are among the first hundred."""
    rows = _arrivals(witness.first(100))
    assert len(rows) == 100
    stream_of = of.by_alias[alias].stream
    return len({a.row for a in rows if a.stream == stream_of.name and not is_punctuation(stream_of, a)})


@pytest.mark.measure
def test_growing_inputs_keep_the_promises_and_their_rows_stay_needed() -> None:
    unsafe = unbounded = 0
    for seed in range(size(120, 5000)):
        of = _query(seed)
        streams = list(dict.fromkeys(s.stream for s in of.all_sources))
        verdict = check_query(of)
        left = [alias for alias, is_safe in verdict.purge.streams if is_safe is False]
        for alias, scenario in scenarios(ClosingGraph(Facts(of)), left).items():
            assert isinstance(scenario, Scenario), seed
            _is_needed(of, alias, scenario, streams)
            unsafe += 1
        assert (verdict.verdict == "unbounded") is (verdict.witness is not None)
        if verdict.witness is not None:
            assert keeps_promises(streams, _arrivals(verdict.witness.first(37)))
            growing = [e.alias for e in verdict.streams if isinstance(e.finding, Unbounded)]
            assert any(_grows(of, alias, verdict.witness) >= 8 for alias in growing if alias in of.by_alias), seed
            unbounded += 1
            assert verdict.memory.bounded is not True
    assert unsafe > size(48, 2000)
    assert unbounded > size(28, 1200)
