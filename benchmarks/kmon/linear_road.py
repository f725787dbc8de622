"""Linear Road (section 9, Table 3): four of its queries over position reports, real ones and a longer generated run.

CQL's streams have deletions and windows by car, which Penstock has not. So each query is put over the append-only
streams that its sub-queries would emit, one row where CQL inserts one:

- CurCarSeg: reports join `active`, one row for each car and each 30 seconds in which it reported; many-one.
- AccSeg: reports join `stopped`, one row for each report, which passes if the car's last four are at one place; RIDS.
- CarExitStr: entries into a segment join `leaves`, one row where a car is seen elsewhere, which passes if it exits;
  RIDS.
- NegTollStr: `leaves` join `tolls`, one row for each entry: the toll to take back; RIDS(0).

Without constraints a row stays for 20 minutes, since a car may stand in a segment that long. All streams arrive by
`seq` and are ordered by time, in the plain join too.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from benchmarks.kmon.graphs import Experiment
from benchmarks.kmon.streams import Floats, Ints, Made, interleaved, join_distance

WINDOW = 1_200
REPORT_EVERY = 30
SEGMENT = 5_280
"""Feet."""
_EXIT_LANE = 4
Reports = dict[str, Ints]
"""t, cid, seg, pos, exits: position reports by time."""


def read(file: Path) -> Reports:
    """The reports of a file of the Linear Road generator."""
    with gzip.open(file) as lines:
        rows = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    rows = rows[rows[:, 0] == 0]
    t, cid, lane, seg, pos = (rows[:, n] for n in (1, 2, 5, 7, 8))
    return {"t": t, "cid": cid, "seg": seg, "pos": pos, "exits": (lane == _EXIT_LANE).astype(np.int64)}


def generated(minutes: int, cars_a_minute: int, seed: int = 9, standing: float = 0.002) -> Reports:
    """A longer run: cars come evenly, drive 3 to 20 minutes at 40 to 70 mph; some of them stand still for a while."""
    chance = np.random.default_rng(seed)
    cars = minutes * cars_a_minute
    begins = np.sort(chance.integers(0, 60 * minutes, cars))
    count = chance.integers(6, 41, cars)
    feet = chance.uniform(40, 70, cars) * SEGMENT / 3600 * REPORT_EVERY
    cid = np.repeat(np.arange(cars), count)
    nth = np.arange(len(cid)) - np.repeat(np.cumsum(count) - count, count)
    stands_from = np.where(chance.random(cars) < standing, 3, 1_000)[cid]
    moved = np.where(nth > stands_from, np.maximum(stands_from, nth - 5), nth)
    pos = (chance.integers(0, 50 * SEGMENT, cars)[cid] + moved * feet[cid]).astype(np.int64)
    t = begins[cid] + nth * REPORT_EVERY
    last = nth == count[cid] - 1
    order = np.lexsort((cid, t))
    found = {"t": t, "cid": cid, "seg": pos // SEGMENT, "pos": pos, "exits": last.astype(np.int64)}
    return {name: values[order][t[order] < 60 * minutes] for name, values in found.items()}


def experiments(reports: Reports) -> dict[str, Experiment]:
    """The queries of Table 3 over some reports."""
    order = np.lexsort((np.arange(len(reports["t"])), reports["cid"]))
    t, cid, seg, pos, exits = (reports[name][order] for name in ("t", "cid", "seg", "pos", "exits"))
    when = order.astype(np.float64)  # where each report stands among all: the clock of the interleaving
    same_car = np.concatenate([[False], cid[1:] == cid[:-1]])
    entered = ~(same_car & np.concatenate([[False], seg[1:] == seg[:-1]]))
    visit = np.cumsum(entered) - 1
    stands = same_car & np.concatenate([[False], pos[1:] == pos[:-1]])
    stopped = stands.copy()
    for back in (1, 2):
        stopped[back:] &= stands[:-back]
        stopped[:back] = False
    rid = np.arange(len(order))
    # A visit is left at the car's next entry, or with its report in the exit lane.
    moves_on = entered & same_car
    left = np.concatenate([visit[moves_on] - 1, visit[exits == 1]])
    left_at = np.concatenate([when[moves_on], when[exits == 1]])
    left_t = np.concatenate([t[moves_on], t[exits == 1]])
    is_exit = np.concatenate([np.zeros(moves_on.sum(), np.int64), np.ones((exits == 1).sum(), np.int64)])
    _, once = np.unique(left, return_index=True)
    leaves = (left_at[once] + 0.2, {"id": left[once], "t": left_t[once], "f": 1 - is_exit[once]})
    entries = (when[entered], {"id": visit[entered], "t": t[entered], "seg": seg[entered]})
    reported = (when, {"id": rid, "t": t, "seg": seg})
    active = (when + 0.1, {"id": rid, "t": t})
    standing = (when + 0.1, {"id": rid, "t": t, "f": 1 - stopped.astype(np.int64)})
    return {
        "CurCarSeg": _joined({"reports": reported, "active": active}, "reports", "active", many_one_only=True),
        "AccSeg": _joined({"reports": reported, "stopped": standing}, "reports", "stopped"),
        "CarExitStr": _joined({"entries": entries, "leaves": leaves}, "entries", "leaves"),
        "NegTollStr": _joined({"tolls": entries, "leaves": leaves}, "leaves", "tolls", filtered=False),
    }


def _joined(
    lines: dict[str, tuple[Floats, dict[str, Ints]]],
    many: str,
    one: str,
    *,
    many_one_only: bool = False,
    filtered: bool = True,
) -> Experiment:
    made: Made = interleaved(lines)
    timed = ("EVENT TIME t", "ORDERED BY t WITHIN 0")
    k = join_distance(made.columns[many], "id", made.columns[one], "id")
    # In these streams a row of either side meets at most one of the other: (car, time) and visits are unique.
    keys = dict.fromkeys(lines, (*timed, "PRIMARY KEY (id)"))
    follows = f"FOLLOWS {one} (id) ON (id) WITHIN {k} ROWS"
    declared = keys if many_one_only else {**keys, many: (*keys[many], follows)}
    passes = f" AND {one}.f < 1" if filtered and "f" in made.columns[one] else ""
    return Experiment(
        made,
        {name: tuple(c for c in columns if c != "seq") for name, columns in made.columns.items()},
        f"SELECT {{hints}} {many}.id FROM {many} [RANGE {WINDOW}], {one} [RANGE {WINDOW}] "
        f"WHERE {many}.id = {one}.id{passes};",
        {"plain": dict.fromkeys(lines, timed), "constraints": declared},
        {one: 1} if passes else {},
    )
