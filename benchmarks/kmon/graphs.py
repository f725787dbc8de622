"""The join graphs of Figure 3 as scripts and data: (a) S1→S2, S1→S3; (b) S1→S3, S2→S3; (c) S1→S2.

Each experiment has the plain sliding-window join (SWJ), which knows windows and the order of arrival alone, and the
same query with constraints declared. Filters are on `f`, a number from 0 to 99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from benchmarks.kmon.streams import (
    Degree,
    Ints,
    Made,
    clustering,
    constant,
    interleaved,
    join_distance,
    references,
    scrambled,
    scrambling,
    spread,
)

WINDOW = 50_000
MULTIPLICITY = 5


@dataclass(frozen=True)
class Experiment:
    """Data, the query over it, and the declarations of each way to run it."""

    made: Made
    columns: Mapping[str, tuple[str, ...]]
    query: str
    """FROM, WHERE and SELECT, with {hints} after SELECT."""
    ways: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By name, what each stream declares; `SWJ` declares nothing."""
    filters: Mapping[str, int] = field(default_factory=dict)
    """By alias, the rows that pass, in percent."""

    def script(self, way: str, hints: str = "") -> str:
        """The script of one way."""
        streams = []
        for name, columns in self.columns.items():
            told = [*(f"{c} BIGINT" for c in ("seq", *columns)), "ARRIVES BY seq", *self.ways[way].get(name, ())]
            streams.append(f"CREATE STREAM {name} ({', '.join(told)});")
        return "\n".join([*streams, self.query.format(hints=f"/*+ {hints} */" if hints else "")])


def _drawn(units: int, chance: np.random.Generator) -> Ints:
    return chance.integers(0, 100, units)


def _sources(*names: str, window: int | None) -> str:
    return ", ".join(name if window is None else f"{name} [ROWS {window}]" for name in names)


def graph_a(units: int, degree: Degree | int, window: int = WINDOW, seed: int = 1) -> Experiment:
    """Figures 4 and 5: RIDS(k) on S1→S2 and S1→S3."""
    chance = np.random.default_rng(seed)
    degree = constant(degree) if isinstance(degree, int) else degree
    time, a = references(units, MULTIPLICITY, degree, chance)
    _, b = references(units, MULTIPLICITY, degree, chance)
    child = np.arange(units)
    made = interleaved(
        {
            "s2": (child.astype(np.float64), {"a": child, "f": _drawn(units, chance)}),
            "s3": (child.astype(np.float64), {"b": child, "f": _drawn(units, chance)}),
            "s1": (time, {"a": a, "b": b}),
        }
    )
    s1, s2, s3 = (made.columns[name] for name in ("s1", "s2", "s3"))
    ks = join_distance(s1, "a", s2, "a"), join_distance(s1, "b", s3, "b")
    keys = {"s2": ("PRIMARY KEY (a)",), "s3": ("PRIMARY KEY (b)",)}
    return Experiment(
        made,
        {"s1": ("a", "b"), "s2": ("a", "f"), "s3": ("b", "f")},
        f"SELECT {{hints}} s1.a, s1.b FROM {_sources('s1', 's2', 's3', window=window)} "
        "WHERE s1.a = s2.a AND s1.b = s3.b AND s2.f < 50 AND s3.f < 50;",
        {
            "SWJ": {},
            "RIDS": {**keys, "s1": tuple(_follows(k) for k in zip(("s2", "s3"), ("a", "b"), ks, strict=True))},
            "RIDS, learned": {**keys, "s1": ("FOLLOWS s2 (a) ON (a) WITHIN AUTO", "FOLLOWS s3 (b) ON (b) WITHIN AUTO")},
        },
        {"s2": 50, "s3": 50},
    )


def _follows(told: tuple[str, str, int]) -> str:
    parent, column, k = told
    return f"FOLLOWS {parent} ({column}) ON ({column}) WITHIN {k} ROWS"


def graph_b(units: int, degree: Degree | int, window: int = WINDOW, seed: int = 2) -> Experiment:
    """Figures 6 to 9: CA(k) or OAP(k) on S1.A and S2.A, children first (RIDS(0), which is not declared)."""
    chance = np.random.default_rng(seed)
    degree = constant(degree) if isinstance(degree, int) else degree
    child = np.arange(units)
    ones, one = spread(units, MULTIPLICITY, degree, chance)
    twos, two = spread(units, MULTIPLICITY, degree, chance)
    made = interleaved(
        {
            "s3": (child.astype(np.float64), {"a": child}),
            "s1": (ones, {"a": one}),
            "s2": (twos, {"a": two}),
        }
    )
    values = {name: made.columns[name]["a"] for name in ("s1", "s2")}
    key = {"s3": ("PRIMARY KEY (a)",)}
    return Experiment(
        made,
        {"s1": ("a",), "s2": ("a",), "s3": ("a",)},
        f"SELECT {{hints}} s1.a, s1.seq AS one, s2.seq AS two FROM {_sources('s1', 's2', 's3', window=window)} "
        "WHERE s1.a = s3.a AND s2.a = s3.a;",
        {
            "SWJ": {},
            "CA": {**key, **{n: (f"CLUSTERED BY a WITHIN {clustering(v)} ROWS",) for n, v in values.items()}},
            "OAP": {**key, **{n: (f"ORDERED BY a WITHIN {scrambling(v)} ROWS",) for n, v in values.items()}},
            "CA, learned": {**key, **dict.fromkeys(values, ("CLUSTERED BY a WITHIN AUTO",))},
            "OAP, learned": {**key, **dict.fromkeys(values, ("ORDERED BY a WITHIN AUTO",))},
        },
    )


def graph_c(units: int, k: int, window: int = WINDOW, seed: int = 3) -> Experiment:
    """Figure 20: OAC(k) on S2.A."""
    chance = np.random.default_rng(seed)
    late = scrambled(units, constant(k), chance)
    time, a = references(units, MULTIPLICITY, constant(0), chance)
    child = np.arange(units)
    made = interleaved({"s2": (late, {"a": child, "f": _drawn(units, chance)}), "s1": (time, {"a": a})})
    ordered = f"ORDERED BY a WITHIN {scrambling(made.columns['s2']['a'])} ROWS"
    return Experiment(
        made,
        {"s1": ("a",), "s2": ("a", "f")},
        f"SELECT {{hints}} s1.a FROM {_sources('s1', 's2', window=window)} WHERE s1.a = s2.a AND s2.f < 50;",
        {"SWJ": {}, "OAC": {"s2": ("PRIMARY KEY (a)", ordered)}},
        {"s2": 50},
    )


def combination_of_ca_and_oac(units: int, k: int = 5_000, window: int = WINDOW, seed: int = 4) -> Experiment:
    """Figure 10: CA(0) on S1.A, OAC(k) on S3.B; a quarter of S1 names no row of S3."""
    chance = np.random.default_rng(seed)
    child = np.arange(units)
    time = np.arange(units * MULTIPLICITY) / MULTIPLICITY + 0.5 / MULTIPLICITY
    a = np.repeat(child, MULTIPLICITY)
    _, b = references(units, MULTIPLICITY, constant(0), chance)
    # Rows of S3 have even numbers, so an odd one is named in vain.
    b = 2 * b + (chance.random(len(b)) < 0.25)
    made = interleaved(
        {
            "s2": (child.astype(np.float64), {"a": child, "f": _drawn(units, chance)}),
            "s3": (scrambled(units, constant(k), chance), {"b": 2 * child, "f": _drawn(units, chance)}),
            "s1": (time, {"a": a, "b": b.astype(np.int64)}),
        }
    )
    clustered = ("CLUSTERED BY a WITHIN 0 ROWS",)
    ordered = ("PRIMARY KEY (b)", f"ORDERED BY b WITHIN {scrambling(made.columns['s3']['b'])} ROWS")
    key = {"s2": ("PRIMARY KEY (a)",), "s3": ("PRIMARY KEY (b)",)}
    return Experiment(
        made,
        {"s1": ("a", "b"), "s2": ("a", "f"), "s3": ("b", "f")},
        f"SELECT {{hints}} s1.a, s1.b FROM {_sources('s1', 's2', 's3', window=window)} "
        "WHERE s1.a = s2.a AND s1.b = s3.b AND s2.f < 50 AND s3.f < 50;",
        {
            "SWJ": {},
            "CA": {**key, "s1": clustered},
            "OAC": {**key, "s3": ordered},
            "CA and OAC": {**key, "s1": clustered, "s3": ordered},
        },
        {"s2": 50, "s3": 50},
    )


def combination_of_ca_and_rids(
    units: int, k: int, window: int = WINDOW, seed: int = 5, *, windowed: bool = True
) -> Experiment:
    """Figure 11: CA(5000), a tenth of the window, on S1.A beside RIDS(k); multiplicity 2, a tenth of S2 passes."""
    chance = np.random.default_rng(seed)
    rows, units = 3 * units, units + k + window
    child = np.arange(units)
    time, a = spread(units, 2, constant(window // 10), chance)
    # Half of the rows of S2 come as their cluster begins; it begins up to k rows of S2 before the others.
    late = child.astype(np.float64) + np.where(chance.random(units) < 0.5, 0.0, chance.random(units) * k)
    whole = interleaved({"s2": (late, {"a": child, "f": _drawn(units, chance)}), "s1": (time, {"a": a})})
    made = whole.first(rows)
    s1, s2 = made.columns["s1"], made.columns["s2"]
    clustered = f"CLUSTERED BY a WITHIN {clustering(s1['a'])} ROWS"
    follows = _follows(("s2", "a", join_distance(s1, "a", s2, "a")))
    key = {"s2": ("PRIMARY KEY (a)",)}
    return Experiment(
        made,
        {"s1": ("a",), "s2": ("a", "f")},
        f"SELECT {{hints}} s1.a FROM {_sources('s1', 's2', window=window if windowed else None)} "
        "WHERE s1.a = s2.a AND s2.f < 10;",
        {
            "SWJ": {},
            "CA": {**key, "s1": (clustered,)},
            "CA and RIDS": {**key, "s1": (clustered, follows)},
        },
        {"s2": 10},
    )
