"""A changed query goes on with the state of what it was: exactly, or not at all.

Columns and policies: beside a run that was the changed query all along, batch by batch. WITHIN: beside the brute join
of everything, where every row keeps what was promised when it came.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime.takeover import obstacle, taken_over
from penstock.testing import Run
from tests.measure import size

STREAMS = """
CREATE STREAM s (k BIGINT, n BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {d} SECONDS{s});
CREATE STREAM t (k BIGINT, n BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {d} SECONDS{t});
"""
NEAR = "s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL -5 SECONDS AND INTERVAL 5 SECONDS"
SHAPES = {
    "inner": f"SELECT s.n AS a, t.n AS b FROM s, t WHERE {NEAR}",
    "left": f"SELECT s.n AS a, t.n AS b FROM s LEFT JOIN t ON {NEAR}",
    "full": f"SELECT s.n AS a, t.n AS b FROM s FULL JOIN t ON {NEAR}",
    "not exists": f"SELECT s.n AS a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE {NEAR})",
    "exists": f"SELECT s.n AS a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE {NEAR})",
    "groups": "SELECT window(s.ts, '4 seconds').start AS b, count(*) AS c "
    f"FROM s, t WHERE {NEAR} GROUP BY window(s.ts, '4 seconds')",
    "distinct": f"SELECT DISTINCT s.k AS a, s.ts AS b FROM s, t WHERE {NEAR}",
    "above": "SELECT window(v.ts, '4 seconds').start AS b, count(*) AS c FROM "
    f"(SELECT s.k AS a, s.ts AS ts FROM s, t WHERE {NEAR}) v GROUP BY window(v.ts, '4 seconds')",
}


def changed(run: Run, script: str) -> Run:
    """The run of another script that goes on with the state of this one; as `penstock run` does on a checkpoint."""
    other = Run(script, cells=run.top.grid.cells)
    for then, now in zip(run.blocks, other.blocks, strict=True):
        stands = obstacle(then.plan, now.plan)
        assert stands is None, stands
        cells = then.grid.cells
        now.stores = [taken_over(then.plan, now.plan, store) for store in then.stores[:cells]] + then.stores[cells:]
    other.restart()
    other._number = run._number
    return other


def table(rows: list[dict[str, Any]]) -> Any:
    whole = [(name, pa.int64()) for name in ("k", "n", "x")]
    found = pa.Table.from_pylist(rows, schema=pa.schema([*whole, ("ts", pa.timestamp("s", "UTC"))]))
    return found.cast(pa.schema([*whole, ("ts", pa.timestamp("us", "UTC"))]))


class Source:
    """Random rows that keep an order within a d that may change: none lies below what was closed."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.peak, self.floor, self.number = 0, 0, 0

    def rows(self, d: int) -> list[dict[str, Any]]:
        found = []
        self.floor = max(self.floor, self.peak - d)
        for _ in range(self.draw.randrange(6)):
            ahead = self.peak + self.draw.choice((0, 1, 3))
            ts = max(self.floor, self.draw.choice((ahead, self.peak - self.draw.randrange(d + 1))))
            self.number += 1
            found.append({"k": self.draw.randrange(3), "n": self.number, "x": self.draw.randrange(9), "ts": ts})
            self.peak = max(self.peak, ts)
            self.floor = max(self.floor, self.peak - d)
        return found


def brute(shape: str, s: list[dict[str, Any]], t: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    pairs = [(a, b) for a in s for b in t if a["k"] == b["k"] and -5 <= b["ts"] - a["ts"] <= 5]
    met = {a["n"] for a, _ in pairs}
    found = Counter((a["n"], b["n"]) for a, b in pairs)
    match shape:
        case "inner":
            return Counter(found)
        case "left" | "full":
            found += Counter((a["n"], None) for a in s if a["n"] not in met)
            if shape == "full":
                others = {b["n"] for _, b in pairs}
                found += Counter((None, b["n"]) for b in t if b["n"] not in others)
            return Counter(found)
        case "not exists":
            return Counter((a["n"],) for a in s if a["n"] not in met)
        case "exists":
            return Counter((n,) for n in met)
        case "distinct":
            return Counter({(a["k"], a["ts"]) for a, _ in pairs})
    return Counter(Counter(a["ts"] // 4 * 4 for a, _ in pairs).items())


def rows_of(step: Any) -> Counter[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return int(value.timestamp()) if isinstance(value, datetime) else value

    return Counter(tuple(map(plain, row.values())) for row in step.rows.to_pylist())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parts", [False, True])
def test_a_within_that_changes_makes_nothing_wrong(shape: str, parts: bool) -> None:
    for seed in range(size(3, 400)):
        draw = Random(f"{shape} {seed}")
        of = " PARTS BY x" if parts else ""
        d = draw.choice((0, 2, 6))
        run = Run(text(shape, d, of), cells=draw.choice((1, 2)))
        given: dict[str, list[dict[str, Any]]] = {"s": [], "t": []}
        sources = {"s": Source(draw), "t": Source(draw)}
        found: Counter[tuple[Any, ...]] = Counter()
        for _ in range(12):
            if draw.random() < 0.3:
                d = draw.choice((0, 2, 6, 12))
                run = changed(run, text(shape, d, of))
            batch = {name: source.rows(d) for name, source in sources.items()}
            if parts:
                # One part: the clock of the stream is its own.
                batch["s"] = [{**row, "x": 1} for row in batch["s"]]
            made = run.step({name: table(rows) for name, rows in batch.items()})
            assert not any(made.metrics["violations"].values()), (seed, made.metrics["violations"])
            found += rows_of(made)
            for name, rows in batch.items():
                given[name] += rows
        found += rows_of(run.end())
        assert found == brute(shape, given["s"], given["t"]), f"seed {seed}"


def text(shape: str, d: int, parts: str = "", s: str = "") -> str:
    declared = f"{s},{parts}" if parts else s
    return STREAMS.format(d=d, s=declared, t=s) + SHAPES[shape] + ";"


def test_what_was_closed_stays_closed_and_is_counted_until_the_wider_clock_has_passed_it() -> None:
    run = Run(text("inner", 2))
    run.step({"s": table([{"k": 1, "n": 1, "x": 0, "ts": 100}]), "t": table([{"k": 1, "n": 1, "x": 0, "ts": 100}])})
    run = changed(run, text("inner", 10))
    late = run.step({"s": table([{"k": 1, "n": 2, "x": 0, "ts": ts} for ts in (97, 98)]), "t": table([])})
    assert sum(late.metrics["violations"].values()) == 1, "98 is 100 less 2, where the clock stood"
    run.step({"s": table([{"k": 1, "n": 3, "x": 0, "ts": 120}]), "t": table([])})
    late = run.step({"s": table([{"k": 1, "n": 4, "x": 0, "ts": ts} for ts in (109, 110)]), "t": table([])})
    assert sum(late.metrics["violations"].values()) == 1, "now 120 less 10"


COLUMNS = ["s.n", "s.x", "t.x", "s.k", "t.k + s.n", "s.ts", "s.x * t.x"]


@pytest.mark.parametrize("join", ["s, t WHERE {c}", "s LEFT JOIN t ON {c}", "s FULL JOIN t ON {c}"])
def test_columns_and_policies_that_change_go_on_as_if_they_had_been_so(join: str) -> None:
    """s.x < t.x + 100 keeps both, asked for or not."""
    taken = 0
    for seed in range(size(12, 600)):
        draw = Random(f"{join} {seed}")

        def script(draw: Random = draw) -> str:
            columns = ", ".join(f"{c} AS c{i}" for i, c in enumerate(draw.sample(COLUMNS, draw.randrange(1, 5))))
            policy = draw.choice(("ADAPT", "TRUST", "QUARANTINE", "FAIL"))
            streams = STREAMS.format(d=3, s=f" ON VIOLATION {policy}", t="")
            near = f"{NEAR} AND s.x < t.x + 100"
            return f"{streams} SELECT {columns} FROM {join.format(c=near)};"

        before, after = script(), script()
        plans = [Run(one).top.plan for one in (before, after)]
        if obstacle(*plans) is not None:
            continue
        taken += 1
        cells = draw.choice((1, 3))
        run, beside = Run(before, cells=cells), Run(after, cells=cells)
        sources = {"s": Source(draw), "t": Source(draw)}
        for number in range(10):
            if number == 5:
                run = changed(run, after)
            batch = {name: table(source.rows(3)) for name, source in sources.items()}
            made, other = run.step(batch), beside.step(batch)
            if number >= 5:
                assert rows_of(made) == rows_of(other), f"seed {seed}"
                assert made.metrics["state_tuples"] == other.metrics["state_tuples"], f"seed {seed}"
        assert rows_of(run.end()) == rows_of(beside.end()), f"seed {seed}"
    assert taken > size(12, 600) * 0.3


REFUSED = {
    "a column that stored rows lack": (
        (SHAPES["inner"], SHAPES["inner"].replace("s.n AS a", "s.n AS a, s.x AS c")),
        "stored rows have no s.x",
    ),
    "another condition": (
        (SHAPES["inner"], SHAPES["inner"].replace("5 SECONDS AND", "6 SECONDS AND")),
        "or when it may go",
    ),
    "a group's column": (
        (SHAPES["groups"], SHAPES["groups"].replace("count(*) AS c", "count(*) AS c, sum(t.n) AS e")),
        "not the same",
    ),
    "DISTINCT": ((SHAPES["distinct"], SHAPES["distinct"].replace("s.ts AS b", "s.ts AS b, t.ts AS e")), "remember"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_state_does_not_allow_is_told(what: str) -> None:
    queries, says = REFUSED[what]
    before, after = (Run(STREAMS.format(d=2, s="", t="") + query + ";").top.plan for query in queries)
    assert says in str(obstacle(before, after))


DECLARED = {
    "RECOVER": ("", " ON VIOLATION RECOVER", "RECOVER needs rows"),
    "rows": (", ORDERED BY n WITHIN 3 ROWS", ", ORDERED BY n WITHIN 5 ROWS", "counts rows"),
    "a promise more": ("", ", PRIMARY KEY (n)", "not the same"),
}


def test_a_column_of_another_type_is_told() -> None:
    text = STREAMS.format(d=2, s="", t="") + SHAPES["inner"] + ";"
    before, after = (Run(one).top.plan for one in (text, text.replace("n BIGINT", "n INT")))
    assert "not the same" in str(obstacle(before, after))


@pytest.mark.parametrize("what", DECLARED)
def test_declarations_that_ask_for_other_state_are_told(what: str) -> None:
    *declared, says = DECLARED[what]
    query = f"SELECT s.n AS a, t.n AS b, s.x AS c FROM s, t WHERE {NEAR} AND s.n = t.n;"
    before, after = (Run(STREAMS.format(d=2, s=one, t="") + query).top.plan for one in declared)
    assert says in str(obstacle(before, after))
